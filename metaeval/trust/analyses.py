"""Commands on a finished run that `metaeval.analysis` answers: ensembles, generators, power; and figures."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

import pandas as pd
from pydantic import Field

from metaeval.analysis.agreement.chance import Weighing, annotators_beyond_chance
from metaeval.analysis.agreement.reliability import annotators_sheet
from metaeval.analysis.ensemble_frontier import BEST, BEST_SINGLE, Choosing
from metaeval.analysis.ensemble_sheets import ensemble_sheets
from metaeval.analysis.ensemble_subsets import Costs, Unit, ensembles
from metaeval.analysis.generator_estimates import estimates_sheet
from metaeval.analysis.generator_ranking import rank_generators
from metaeval.analysis.generator_sheets import best_evaluator, ranking_sheets, trusted
from metaeval.analysis.given_column import by_sheet, given_sheet
from metaeval.analysis.power_sizes import power, power_sheet
from metaeval.analysis.user_orders import order_sheets
from metaeval.base.counts import few_of, plural_of
from metaeval.base.errors import MetaevalError, one_of
from metaeval.base.files import replacing, write_text
from metaeval.base.records import AVERAGE, Kind, ScoreTable
from metaeval.base.simulation import REAL
from metaeval.engine.correlation import BY, among, correlated_by
from metaeval.engine.figure import Figure
from metaeval.engine.intervals import Bootstrap
from metaeval.engine.sheet import Column, Sheet
from metaeval.judging.cost import costs_of
from metaeval.kinds.index import kind_named
from metaeval.reports.cells import points_of, printed_rows
from metaeval.reports.drawing import PAPER, check_drawing, draw
from metaeval.reports.sheets import sheet_to_csv
from metaeval.runs.command import Aspects, Judges, Names, Place, Printed, Resamples, Seed, Typed, command
from metaeval.runs.finished import OpenRun, open_run, refuse_unrated
from metaeval.runs.joint import run_names
from metaeval.study.plan import column_of


def panel_of(run: OpenRun, wanted: Sequence[str] = ()) -> list[str]:
    """Return the evaluators to combine, two or more: those that are wanted, or the judges of the run."""
    known = list(run.scores.evaluators)
    for name in wanted:
        one_of(name, known, "the run has no evaluator")
    if len(set(wanted)) < len(wanted):
        raise MetaevalError(f"{', '.join(wanted)} names a judge twice; give each once")
    names = list(wanted) or run.judges
    if len(names) < 2:
        others = [n for n in known if run.scores.kinds.get(n) not in (Kind.BASELINE, Kind.ENSEMBLE)]
        have = f"{len(names)} judge is given" if wanted else f"the run has {len(names) or 'no'} judge"
        raise MetaevalError(
            f"{have}, and an ensemble needs two or more: name its members with --judge "
            f"({', '.join(others) or 'it has none'})"
        )
    return names


class Combining(Typed):
    """Which judges are combined, and how."""

    judges: Judges = ()
    """Judge to combine; give it once per judge.  [default: the run's judges]"""
    levels: Annotated[Names, "--level"] = ()
    """Level to report; may be given again."""
    aspects: Aspects = ()
    resamples: Resamples = 10_000
    seed: Seed = 0


@command("ensembles", rated=True)
def ensembles_of(run: OpenRun, how: Combining) -> Printed:
    """Compare the means of all subsets of the judges of the finished run in the folder RUN.

    Prints accuracy by size, the contribution of each judge, how far their errors are correlated, and the
    cheapest ensemble not significantly worse than the best, chosen on some users and evaluated on others.
    """
    names = panel_of(run, how.judges)
    within = min(how.resamples, 1_000)
    estimates = ensembles(
        run.prepared(levels=how.levels or None, coefficients=["pearson"], evaluators=names),
        aspects=how.aspects or None,
        costs=costs_per_text(run.scores, names),
        how=Choosing(resamples=how.resamples, resamples_in_fold=within, seed=how.seed),
    )
    people = plural_of(estimates.cluster)
    return Printed(
        ensemble_sheets(estimates),
        run.scores.simulation.among(names),
        say=lambda by_name: _best_ensemble(by_name, len(estimates.members), people),
    )


def _best_ensemble(sheets: Mapping[str, Sheet], n: int, people: str) -> Iterator[str]:
    """Say which ensemble agrees best at the first level, and whether a cheaper one is shown to be worse."""
    frontier, choices = sheets["frontier"], sheets["choices"]
    rows = pd.DataFrame(printed_rows(frontier)).assign(
        **{name: frontier.frame[name] for name in ("judges", "best", "cheapest")}
    )
    if rows.empty:
        return
    level = rows["level"].iloc[0]
    best, cheapest = (rows[(rows["level"] == level) & rows[one]].iloc[0] for one in ("best", "cheapest"))
    held_out = {row["rule"]: row["cross_fitted"] for row in printed_rows(choices) if row["level"] == level}

    def who(judges: str) -> str:
        names = [frontier.names.get(name, name) for name in judges.split(" + ")]
        return f"the mean of {few_of(names)}" if len(names) > 1 else f"{names[0]} alone"

    told = (
        f"Of {n:,} ensembles, {who(best['judges'])} agrees best with the truth (Pearson's r × 100 = "
        f"{best['accuracy']}, {level} level; on held-out {people} {held_out[BEST]}, the best single judge "
        f"{held_out[BEST_SINGLE]})"
    )
    if cheapest["best"]:
        yield f"{told}, and every cheaper one is shown to be worse."
    else:
        yield f"{told}; {who(cheapest['judges'])} is cheaper, and not shown to be worse (p: {cheapest['p']})."


def costs_per_text(scores: ScoreTable, names: Sequence[str]) -> Costs | None:
    """Return the cost per unit of each evaluator: in USD if all are known, else in tokens, else None."""
    # Calls are shared among these alone.
    signatures = {name: of for name, of in scores.signatures.items() if name in names}
    known = costs_of(replace(scores, signatures=signatures)).set_index("evaluator").reindex(list(names))
    columns: dict[Unit, str] = {"usd": "usd_per_text", "tokens": "tokens_per_text"}
    for unit, column in columns.items():
        of_judge = known[column].astype(float)
        if of_judge.notna().all() and (of_judge > 0).any():
            return Costs({name: float(of_judge[name]) for name in names}, unit)
    return None


class RankingOptions(Typed):
    """How generators are ranked."""

    evaluators: Annotated[Names, "--evaluator NAME"] = ()
    """Evaluator to rank by; may be given again.  [default: all but baselines]"""
    aspect: str | None = None
    """Aspect to rank by.  [default: all, and their average]"""
    labelled: Annotated[int | None, "N"] = None
    """Estimate from the ratings of N users and all scores."""
    weight: Annotated[float | None, "LAMBDA"] = None
    """Weight of the scores in these estimates; 1 is plain PPI.  [default: tuned, PPI++]"""
    resamples: int = 10_000
    """Resamples of the users."""
    seed: int = 0
    """Seed of the resamples."""


@command("generators", rated=True, answered=True)
def generators_of(run: OpenRun, how: RankingOptions) -> Printed:
    """Rank the generators of the finished run in the folder RUN by ratings and by evaluators."""
    options = Bootstrap.read({"resamples": how.resamples, "seed": how.seed})
    others = [n for n in run.scores.evaluators if run.scores.kinds.get(n) != Kind.BASELINE]
    alone = not (how.evaluators or others)  # ratings: baselines alone are no rankings
    names = trusted(run.scores, run.scores.evaluators if alone else how.evaluators)
    data = run.prepared(levels=["dataset"], evaluators=names)
    chosen = data.aspects if how.aspect is None else [how.aspect]
    ranking = rank_generators(data, aspects=chosen, bootstrap=options)
    simulated = run.scores.simulation
    scale = run.record.data.scale
    sheets = ranking_sheets(ranking, data, truth=run.record.truth.spec, scale=scale, simulated=simulated)
    orders = order_sheets(data, chosen, simulated=simulated.among(()))
    if alone:
        return Printed([sheets[0], *orders], REAL)
    judge = names[0] if how.evaluators else best_evaluator(run.table, names, how.aspect)
    powered = estimates_sheet(
        run.scores.frame,
        run.truth,
        judge,
        aspects=chosen,
        labelled=how.labelled,
        seed=how.seed,
        weight=how.weight,
        simulated=simulated.among([judge]),
    )
    return Printed([*sheets, *orders, powered], REAL)


class Powering(Typed):
    """Which studies are simulated."""

    evaluators: Annotated[tuple[str, str] | None, "A B"] = None
    """The two evaluators to compare.  [default: the best and the second]"""
    aspect: str = AVERAGE
    """Aspect of the run, or average."""
    level: Literal["dataset", "user", "pair", "item", "generator"] | None = None
    """[default: the run's first]"""
    coefficient: Literal["pearson", "spearman", "kendall"] | None = None
    """[default: the run's first]"""
    users: Annotated[tuple[int, ...] | None, "N,..."] = None
    """[default: 10, 20 and 1, 2, 4, 8 times the run's]"""
    units: Annotated[tuple[int, ...] | None, "N,..."] = None
    """Units per user.  [default: all of the run's]"""
    studies: Annotated[int, Field(ge=100)] = 2000
    """Simulated studies per size."""
    seed: Seed = 0


@command("power", rated=True)
def power_of(run: OpenRun, how: Powering) -> Printed:
    """Estimate how many users are needed to tell two evaluators of the run in RUN apart.

    Studies of several sizes are simulated by drawing users, and units of each, from the run.
    """
    usual = run.record.study.policy()
    data = run.prepared(
        levels=[how.level or usual.levels[0]], coefficients=[how.coefficient or usual.coefficients[0]]
    )
    sizes = power(data, **how.model_dump(exclude={"level", "coefficient"}))
    return Printed([power_sheet(sizes)], run.scores.simulation.among((sizes.first, sizes.second)))


class Detailing(Typed):
    """What is printed beside the details."""

    weights: Annotated[str | None, "NAME|FILE"] = None
    """Also show annotators' κ, π, AC1 or AC2 and α under weights of agreement: identity, linear, quadratic,
    radical, ratio, ordinal, circular, bipolar, or a CSV file with a row and a column per label."""
    by: Annotated[str | None, "COLUMN"] = None
    """Also show correlations within each value of this column of the units or users."""
    given: Annotated[str | None, "COLUMN"] = None
    """Also show correlations given this column: partial, averaged by Fisher's z, of differences, of pairs."""
    threshold: Annotated[float, Field(ge=0)] = 0.0
    """Points by which two truths must differ to be a clear pair, with --given."""
    data: Annotated[str | None, "DIR"] = None
    """Data-set folder of the run, for the column.  [default: the study's]"""


@command("details", answered=True)
def details_of(run: OpenRun, how: Detailing) -> Printed:
    """Print more of the run in RUN: measures, agreement of people, reliability, variance components.

    Measures are pairwise accuracy with calibrated ties, soft pairwise accuracy of generators, weighted
    kappa, Krippendorff's alpha, concordance and mean absolute error. Reliability is that of annotators, and
    of judges over replicates; where it is known, correlations are corrected for it.
    """
    sheets = [*kind_named(run.scored.study.kind).details(run.scored)]
    drawn = Bootstrap.read(run.record.study.bootstrap) or Bootstrap()
    simulated, policy = run.scores.simulation, run.record.study.policy()
    of_people: list[Callable[[pd.DataFrame], Sheet | None]] = []
    if how.weights is not None:
        weighing, scale = Weighing.read(how.weights), run.record.data.scale
        of_people = [lambda part: annotators_beyond_chance(part, run.raters, scale, weighing, drawn)]
        whole = of_people[0](run.truth)
        if whole is None:
            raise MetaevalError("the run has no two annotators, so --weights has nothing to weigh")
        sheets.append(whole)
    if how.by or how.given:
        refuse_unrated(run.folder, run.record.study.kind)
    if how.by is not None:
        categories = column_of(run, how.by, how.data)
        frame = correlated_by(run.scores, run.truth, policy, drawn, categories)
        sheets.append(by_sheet(frame, how.by, run.record.order, simulated))
        of_people.append(lambda part: annotators_sheet(part, run.raters, simulated.among(())))
        sheets += [s for make in of_people if (s := _by(make, run.truth, categories, how.by))]
    if how.given is not None:
        categories = column_of(run, how.given, how.data)
        given = given_sheet(run.prepared(), categories, how.given, how.threshold, cluster=drawn.cluster)
        sheets.append(replace(given, simulated=simulated))
    return Printed(sheets, REAL)


def _by(
    make: Callable[[pd.DataFrame], Sheet | None], truth: pd.DataFrame, categories: pd.DataFrame, column: str
) -> Sheet | None:
    """Return the rows of a sheet of the truth, made of the units of each value of a column; None without."""
    made = {
        str(value): make(among(truth, units.drop(columns="category")))
        for value, units in categories.groupby("category", sort=True)
    }
    sheets = {value: sheet for value, sheet in made.items() if sheet is not None}
    if not sheets:
        return None
    first = next(iter(sheets.values()))
    frame = pd.concat([sheet.frame.assign(**{BY: v}) for v, sheet in sheets.items()], ignore_index=True)
    columns = (Column(BY, column), *first.columns)
    return replace(
        first, name=f"{first.name}-by", title=f"{first.title}, by {column}", frame=frame, columns=columns
    )


def figures_of_run(
    run: OpenRun, *, names: Sequence[str] = (), first: Mapping[str, str] | None = None
) -> Sequence[Figure]:
    """Return the figures of a finished run; the arguments are those of `StudyKind.figures`."""
    dimensions = {d.name: list(d.choices) for d in run.board.dimensions}
    for column, value in (first or {}).items():
        one_of(value, dimensions.get(column, []), f"the run has no {column}", "it has")
    return kind_named(run.record.study.kind).figures(run.scored, run.board, names, first)


def figures_of_runs(
    runs: Mapping[str, OpenRun], *, names: Sequence[str] = (), first: Mapping[str, str] | None = None
) -> Sequence[Figure]:
    """Return the figures of several runs of one kind, a panel per data set; see `figures_of_run`."""
    kinds = list(dict.fromkeys(run.record.study.kind for run in runs.values()))
    if len(kinds) > 1:
        raise MetaevalError(f"runs of kind {' and '.join(kinds)} have no figures in common; give runs of one")
    called = [run.record.data.name for run in runs.values()]
    called = called if len({*called}) == len(called) else list(runs)
    scored = {name: run.scored for name, run in zip(called, runs.values(), strict=True)}
    return kind_named(kinds[0]).figures_of_several(scored, names, first or {})


def write_figures(
    folder: Place | Sequence[Place],
    suffixes: Sequence[str] = ("svg",),
    out: Place | None = None,
    *,
    names: Sequence[str] = (),
    first: Mapping[str, str] | None = None,
    scale: float = 2.0,
    bare: bool = False,
    width: str | None = None,
) -> list[Path]:
    """Write the figures of a finished run, and the data of each as CSV; return the paths.

    They go to the folder ``figures`` in the run's, if ``out`` is left out. Of several runs of one kind, a
    figure has a panel per data set, and ``out`` is needed. ``names`` and ``first`` are as in
    `figures_of_run`; ``scale`` is the number of pixels of a PNG per pixel of the chart; a ``bare`` figure has
    no title and caption, as has one of a ``width`` on paper: ``column``, ``text``, or a length such as
    ``84mm``.
    """
    check_drawing()
    points = None if width is None else points_of(width, PAPER)
    places = [folder] if isinstance(folder, str | os.PathLike) else list(folder)
    runs = {name: open_run(path) for name, path in run_names(places).items()}
    if len(runs) > 1 and out is None:
        raise MetaevalError("figures of several runs need a folder of their own; give it with --out")
    run = next(iter(runs.values()))
    target = run.folder / "figures" if out is None else Path(out)

    def made(names: Sequence[str] = ()) -> Sequence[Figure]:
        if len(runs) > 1:
            return figures_of_runs(runs, names=names, first=first)
        return figures_of_run(run, names=names, first=first)

    figures = {figure.sheet.name: figure for figure in made(names)}
    which = f"the run in {run.folder} has" if len(runs) == 1 else "the runs have"
    if not names and not figures:
        raise MetaevalError(f"{which} no data for a figure")
    if lacking := [name for name in names if name not in figures]:
        one_of(lacking[0], [figure.sheet.name for figure in made()], f"{which} no data for a figure")
    written = []
    for name, figure in figures.items():
        for suffix in dict.fromkeys(suffixes):
            with replacing(path := target / f"{name}.{suffix}") as temporary:
                temporary.write_bytes(draw(figure, suffix, scale=scale, bare=bare, width=points))
            written.append(path)
        write_text(path := target / f"{name}.csv", sheet_to_csv(figure.sheet))
        written.append(path)
    return written
