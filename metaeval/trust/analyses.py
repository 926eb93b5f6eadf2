"""Commands on a finished run that `metaeval.analysis` answers: ensembles, generators, power; and figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

from metaeval.analysis.ensemble_frontier import Choosing
from metaeval.analysis.ensemble_sheets import ensemble_sheets
from metaeval.analysis.ensemble_subsets import Costs, Unit, ensembles
from metaeval.analysis.generator_estimates import estimates_sheet
from metaeval.analysis.generator_ranking import rank_generators
from metaeval.analysis.generator_sheets import best_evaluator, ranking_sheets, trusted
from metaeval.analysis.power_sizes import power, power_sheet
from metaeval.base.errors import MetaevalError, one_of
from metaeval.base.files import replacing, write_text
from metaeval.base.records import AVERAGE, Kind, ScoreTable
from metaeval.base.simulation import REAL
from metaeval.engine.figure import Figure
from metaeval.engine.intervals import Bootstrap
from metaeval.judging.cost import costs_of
from metaeval.kinds.kind import kind_named
from metaeval.reports.drawing import check_drawing, draw
from metaeval.reports.sheets import sheet_to_csv
from metaeval.runs.command import Aspects, Made, Option, Place, Resamples, Seed, command, the_judges
from metaeval.runs.finished import OpenRun, open_run


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


@command("ensembles", rated=True)
def ensembles_of(
    run: OpenRun,
    judges: Annotated[Sequence[str], the_judges("Judge to combine; give it once per judge.", panel_of)] = (),
    *,
    levels: Annotated[Sequence[str], Option("Level to report; may be given again.", "--level")] = (),
    aspects: Aspects = (),
    resamples: Resamples = 10_000,
    seed: Seed = 0,
) -> Made:
    """Compare the means of all subsets of the judges of the finished run in the folder RUN.

    Prints accuracy by size, the contribution of each judge, how far their errors are correlated, and the
    cheapest ensemble not significantly worse than the best, chosen on some users and evaluated on others.
    """
    estimates = ensembles(
        run.prepared(levels=levels or None, coefficients=["pearson"], evaluators=judges),
        aspects=aspects or None,
        costs=costs_per_text(run.scores, judges),
        how=Choosing(resamples=resamples, resamples_in_fold=min(resamples, 1_000), seed=seed),
    )
    return Made(ensemble_sheets(estimates))


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


@command("generators", rated=True)
def generators_of(
    run: OpenRun,
    evaluators: Annotated[
        Sequence[str],
        Option(
            "Evaluator to rank by; may be given again.  [default: all but baselines]", "--evaluator", "NAME"
        ),
    ] = (),
    *,
    aspect: Annotated[str | None, Option("Aspect to rank by.  [default: all, and their average]")] = None,
    labelled: Annotated[
        int | None, Option("Estimate from the ratings of N users and all scores.", metavar="N")
    ] = None,
    resamples: Annotated[int, Option("Resamples of the users.")] = 10_000,
    seed: Annotated[int, Option("Seed of the resamples.")] = 0,
) -> Made:
    """Rank the generators of the finished run in the folder RUN by ratings and by evaluators."""
    options = Bootstrap.read({"resamples": resamples, "seed": seed})
    names = trusted(run.scores, evaluators)
    data = run.prepared(levels=["dataset"], evaluators=names)
    chosen = data.aspects if aspect is None else [aspect]
    ranking = rank_generators(data, aspects=chosen, bootstrap=options)
    simulated = run.scores.simulation
    scale = run.record.data.scale
    sheets = ranking_sheets(ranking, data, truth=run.record.truth.spec, scale=scale, simulated=simulated)
    judge = names[0] if evaluators else best_evaluator(run.table, names, aspect)
    powered = estimates_sheet(
        run.scores.frame,
        run.truth,
        judge,
        aspects=chosen,
        labelled=labelled,
        seed=seed,
        simulated=simulated.among([judge]),
    )
    return Made([*sheets, powered], REAL)


@command("power", rated=True)
def power_of(
    run: OpenRun,
    evaluators: Annotated[
        tuple[str, str] | None,
        Option("The two evaluators to compare.  [default: the best and the second]", metavar="A B"),
    ] = None,
    *,
    aspect: Annotated[str, Option("Aspect of the run, or average.")] = AVERAGE,
    level: Annotated[
        Literal["dataset", "user", "pair", "item", "generator"] | None, Option("[default: the run's first]")
    ] = None,
    coefficient: Annotated[
        Literal["pearson", "spearman", "kendall"] | None, Option("[default: the run's first]")
    ] = None,
    users: Annotated[
        Sequence[int] | None,
        Option("[default: 10, 20 and 1, 2, 4, 8 times the run's]", metavar="N,..."),
    ] = None,
    units: Annotated[
        Sequence[int] | None,
        Option("Units per user.  [default: all of the run's]", metavar="N,..."),
    ] = None,
    studies: Annotated[int, Option("Simulated studies per size.", least=100)] = 2000,
    seed: Seed = 0,
) -> Made:
    """Estimate how many users are needed to tell two evaluators of the run in RUN apart.

    Studies of several sizes are simulated by drawing users, and units of each, from the run.
    """
    usual = run.record.study.policy()
    data = run.prepared(
        levels=[level or usual.levels[0]], coefficients=[coefficient or usual.coefficients[0]]
    )
    sizes = power(data, evaluators, aspect=aspect, users=users, units=units, studies=studies, seed=seed)
    return Made([power_sheet(sizes)], run.scores.simulation.among((sizes.first, sizes.second)))


@command("details")
def details_of(run: OpenRun) -> Made:
    """Print more of the run in RUN: measures, agreement of people, reliability, variance components.

    Measures are pairwise accuracy with calibrated ties, soft pairwise accuracy of generators, weighted
    kappa, Krippendorff's alpha, concordance and mean absolute error. Reliability is that of annotators, and
    of judges over replicates; where it is known, correlations are corrected for it.
    """
    return Made(kind_named(run.scored.study.kind).details(run.scored), REAL)


def figures_of_run(
    run: OpenRun, *, names: Sequence[str] = (), first: Mapping[str, str] | None = None
) -> Sequence[Figure]:
    """Return the figures of a finished run; the arguments are those of `StudyKind.figures`."""
    dimensions = {d.name: list(d.choices) for d in run.board.dimensions}
    for column, value in (first or {}).items():
        one_of(value, dimensions.get(column, []), f"the run has no {column}", "it has")
    return kind_named(run.record.study.kind).figures(run.scored, run.board, names, first)


def write_figures(
    folder: Place,
    suffixes: Sequence[str] = ("svg",),
    out: Place | None = None,
    *,
    names: Sequence[str] = (),
    first: Mapping[str, str] | None = None,
    scale: float = 2.0,
    bare: bool = False,
) -> list[Path]:
    """Write the figures of a finished run, and the data of each as CSV; return the paths.

    They go to the folder ``figures`` in the run's, if ``out`` is left out. ``names`` and ``first`` are as in
    `figures_of_run`; ``scale`` is the number of pixels of a PNG per pixel of the chart; a ``bare`` figure has
    no title and caption.
    """
    check_drawing()
    run = open_run(folder)
    target = run.folder / "figures" if out is None else Path(out)
    figures = {figure.sheet.name: figure for figure in figures_of_run(run, names=names, first=first)}
    if not names and not figures:
        raise MetaevalError(f"the run in {run.folder} has no data for a figure")
    if lacking := [name for name in names if name not in figures]:
        have = [figure.sheet.name for figure in figures_of_run(run)]
        one_of(lacking[0], have, f"the run in {run.folder} has no data for a figure")
    written = []
    for name, figure in figures.items():
        for suffix in dict.fromkeys(suffixes):
            with replacing(path := target / f"{name}.{suffix}") as temporary:
                temporary.write_bytes(draw(figure, suffix, scale=scale, bare=bare))
            written.append(path)
        write_text(path := target / f"{name}.csv", sheet_to_csv(figure.sheet))
        written.append(path)
    return written
