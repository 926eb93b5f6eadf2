"""A finished run → the sheets of an analysis, its figures as files, and views of its report."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from metaeval.analysis.ensemble_frontier import Choosing
from metaeval.analysis.ensemble_sheets import ensemble_sheets
from metaeval.analysis.ensemble_subsets import Costs, Unit, ensembles
from metaeval.analysis.generator_estimates import estimates_sheet
from metaeval.analysis.generator_ranking import rank_generators
from metaeval.analysis.generator_sheets import best_evaluator, ranking_sheets, trusted
from metaeval.analysis.power_sizes import power, power_sheet
from metaeval.base.errors import MetaevalError, one_of
from metaeval.base.files import replacing, write_text
from metaeval.base.keys import noun
from metaeval.base.records import AVERAGE, USER_RATER, Kind, ScoreTable
from metaeval.engine.figure import Figure, figure_payload
from metaeval.engine.intervals import Bootstrap
from metaeval.engine.sheet import Sheet
from metaeval.evaluators.annotator import Annotator
from metaeval.judging.cost import costs_of
from metaeval.kinds.files.loading import load
from metaeval.kinds.kind import Scored, kind_named
from metaeval.kinds.reading import make_study
from metaeval.kinds.registry import recorded_names
from metaeval.kinds.scoring import score
from metaeval.reports.drawing import check_drawing, draw
from metaeval.reports.report_model import sheets_payload, with_sheets
from metaeval.reports.sheets import sheet_to_csv
from metaeval.runs.finished import OpenRun, open_run
from metaeval.runs.folder import REPORT, rewrite_output
from metaeval.sources.hub import FILE
from metaeval.stats.agreement.alternative import Alignment
from metaeval.stats.resampling.bootstrap import Resampler
from metaeval.study.pipeline import truth_ratings
from metaeval.trust.correction import correcting_sheets, samples, samples_by_cluster, withholding
from metaeval.trust.escalation import escalating_sheets, stages
from metaeval.trust.label_plan import labels_of, plan_for, planning_sheet
from metaeval.trust.replacement import panels, raters_sheets, ratings_of_people
from metaeval.trust.replacement_tables import ReplacingOptions, replacing_sheets


def ensembles_of(
    folder: str | os.PathLike[str],
    judges: Sequence[str] = (),
    *,
    levels: Sequence[str] = (),
    aspects: Sequence[str] = (),
    resamples: int = 10_000,
    seed: int = 0,
) -> list[Sheet]:
    """Analyse the ensembles of judges of a finished run; judges, levels and aspects are its own if empty."""
    run = open_run(folder, rated=True)
    names = judges_of(run, judges)
    estimates = ensembles(
        run.prepared(levels=levels or None, coefficients=["pearson"], evaluators=names),
        aspects=aspects or None,
        costs=costs_per_text(run.scores, names),
        how=Choosing(resamples=resamples, resamples_in_fold=min(resamples, 1_000), seed=seed),
    )
    return ensemble_sheets(estimates, simulated=run.scores.simulation.among(names))


def judges_of(run: OpenRun, wanted: Sequence[str] = ()) -> list[str]:
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


def generators_of(
    folder: str | os.PathLike[str],
    evaluators: Sequence[str] = (),
    *,
    aspect: str | None = None,
    labelled: int | None = None,
    resamples: int = 10_000,
    seed: int = 0,
) -> list[Sheet]:
    """Rank the generators of a finished run by ratings and by evaluators.

    The options are those of `metaeval generators`; ``labelled`` users are drawn at random.
    """
    options = Bootstrap.read({"resamples": resamples, "seed": seed})
    run = open_run(folder, rated=True)
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
    return [*sheets, powered] if powered else sheets


def power_of(
    folder: str | os.PathLike[str],
    evaluators: tuple[str, str] | None = None,
    *,
    aspect: str = AVERAGE,
    level: str | None = None,
    coefficient: str | None = None,
    users: Sequence[int] | None = None,
    units: Sequence[int] | None = None,
    studies: int = 2000,
    seed: int = 0,
) -> list[Sheet]:
    """Say how many users are needed to tell two evaluators of a finished run apart."""
    run = open_run(folder, rated=True)
    usual = run.record.study.policy()
    data = run.prepared(
        levels=[level or usual.levels[0]], coefficients=[coefficient or usual.coefficients[0]]
    )
    sizes = power(data, evaluators, aspect=aspect, users=users, units=units, studies=studies, seed=seed)
    return [power_sheet(sizes, simulated=run.scores.simulation)]


def details_of(folder: str | os.PathLike[str]) -> Sequence[Sheet]:
    """Return what else a finished run tells beside its leaderboard."""
    scored = open_run(folder).scored
    return kind_named(scored.study.kind).details(scored)


def figures_of_run(
    run: OpenRun, *, names: Sequence[str] = (), first: Mapping[str, str] | None = None
) -> Sequence[Figure]:
    """Return the figures of a finished run; the arguments are those of `StudyKind.figures`."""
    dimensions = {d.name: list(d.choices) for d in run.board.dimensions}
    for column, value in (first or {}).items():
        one_of(value, dimensions.get(column, []), f"the run has no {column}", "it has")
    return kind_named(run.record.study.kind).figures(run.scored, run.board, names, first)


def write_figures(
    folder: str | os.PathLike[str],
    suffixes: Sequence[str] = ("svg",),
    out: str | os.PathLike[str] | None = None,
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


def show_in_report(
    folder: str | os.PathLike[str],
    view: str,
    sheets: Sequence[Sheet],
    figures: Sequence[Figure] = (),
    within: Mapping[str, Mapping[str, float]] | None = None,
) -> None:
    """Show sheets in the view ``biases`` or ``calibration`` of a run's report, in place of those it had.

    ``figures`` and ``within`` are as of `metaeval.reports.report_model.with_sheets`.
    A folder that is no run, a report that the run did not write, and one that may not be written stay as they
    are: the sheets are printed all the same.
    """
    with contextlib.suppress(MetaevalError, OSError):
        drawn = [figure_payload(figure) for figure in figures]
        tables = sheets_payload(view, sheets)
        page = partial(with_sheets, view=view, sheets=tables, figures=drawn, within=within)
        rewrite_output(Path(folder), REPORT, page)


def replacing_of(
    folder: str | os.PathLike[str],
    evaluators: Sequence[str] = (),
    *,
    aspects: Sequence[str] = (),
    experts: Sequence[str] = (),
    epsilon: float | None = None,
    alignment: Alignment | None = None,
    margin: float = 0.1,
    cluster: str | None = None,
    resamples: int = 10_000,
    seed: int = 0,
) -> list[Sheet]:
    """Say which judges of a run, or of a data set's recorded scores, may replace a person.

    The options are those of `metaeval replace`.
    """
    scored = (
        _labelled(Path(folder)) if (Path(folder) / FILE).is_file() else open_run(folder, rated=True).scored
    )
    held = list(panels(scored, evaluators, aspects, cluster))
    known = dict.fromkeys(person for panel in held for person in panel.people)
    for name in experts:
        one_of(name, known, "the run has no person", "it has")
    how = ReplacingOptions(experts, epsilon, alignment, margin, cluster or noun(scored.cluster))
    simulated = scored.scores.simulation.among([panel.evaluator for panel in held])
    resampler = Resampler(0, resamples, seed)
    [agree, *raters] = raters_sheets(held, resampler, scored.scores.simulation.among(()))
    sheets = [agree, *replacing_sheets(held, how, resampler, simulated), *raters]
    show_in_report(folder, "replace", sheets)
    return sheets


def _labelled(folder: Path) -> Scored[Any]:
    """Return the recorded scores of a data set with what people said, which may be words."""
    data = load(folder)
    kind, names = kind_named(data.kind), recorded_names(data)
    if not names:
        raise MetaevalError(
            f"data set {data.name!r} has no recorded scores; run a study of it, and name the run"
        )
    people = Annotator.found_in(data)
    truth = "User()" if USER_RATER in data.ratings["rater"].unique() else f"Annotator({people[0]!r})"
    specs = {name: f"Recorded({name!r})" for name in names}
    content = {"kind": data.kind, "dataset": str(folder), "truth": truth, "evaluators": specs}
    said = data.ratings[~data.ratings["rater"].isin(getattr(data, "models", ()))]
    of_truth = truth_ratings(score(data, [truth]))
    study = make_study(content)
    scored: Scored[Any] = kind.scored(
        kind, study, data.scale, data.cluster, score(data, specs), of_truth, said[said["rater"] != USER_RATER]
    )
    return scored


def escalation_of(
    folder: str | os.PathLike[str],
    judges: Sequence[str] = (),
    *,
    aspects: Sequence[str] = (),
    alpha: float = 0.1,
    delta: float = 0.05,
    within: float | None = None,
    route: str | os.PathLike[str] | None = None,
) -> list[Sheet]:
    """Say which units each judge of a run decides, and which a person; options as of `metaeval escalate`.

    The route of each unit is written to ``route``, or to ``route.csv`` in the run folder.
    """
    run = open_run(folder, rated=True)
    names = [one_of(name, list(run.scores.evaluators), "the run has no evaluator") for name in judges]
    names = list(dict.fromkeys(names or run.judges))
    if not names:
        raise MetaevalError("the run has no judge; name who is asked first, second, … with --judge")
    known = list(map(str, run.truth["aspect"].unique()))
    wanted = [one_of(aspect, known, "there is no aspect", "there are") for aspect in aspects] or known
    sheets, frame = escalating_sheets(
        stages(run.scored, names, wanted, within),
        alpha=alpha,
        delta=delta,
        costs=costs_per_text(run.scores, names),
        simulated=run.scores.simulation.among(names),
    )
    write_text(Path(folder) / "route.csv" if route is None else Path(route), frame.to_csv(index=False))
    show_in_report(folder, "escalate", sheets)
    return sheets


def plan_of(
    folder: str | os.PathLike[str],
    better: tuple[str, str] | None = None,
    *,
    judge: str | None = None,
    aspect: str | None = None,
    labels: str | os.PathLike[str] | None = None,
    epsilon: float = 0.1,
    width: float = 0.0,
    plan: str | os.PathLike[str] | None = None,
    alpha: float = 0.05,
    seed: int = 0,
) -> list[Sheet]:
    """Say what to label next, and write the plan; options as of `metaeval plan`.

    A plan that is there is kept: labels may have followed it, so another one needs another file.
    """
    run = open_run(folder)
    evaluators = list(run.scores.evaluators)
    if judge is None and not run.judges:
        raise MetaevalError(
            "the run has no judge; name the evaluator whose scores are corrected with --judge"
        )
    name = one_of(judge or run.judges[0], evaluators, "the run has no evaluator")
    known = list(map(str, run.scores.frame["aspect"].unique()))
    wanted = one_of(aspect or known[0], known, "there is no aspect", "there are")
    drawn = plan_for(run.scored, name, wanted, better or None, epsilon=epsilon, width=width, seed=seed)
    path = Path(folder) / "plan.csv" if plan is None else Path(plan)
    content = drawn.units.to_csv(index=False)
    if path.exists() and path.read_text(encoding="utf-8") != content:
        raise MetaevalError(
            f"{path} is a plan of another question, judge or seed, and labels may have followed it; give the "
            "same ones, or write this plan to another file with --plan"
        )
    write_text(path, content)
    if labels is not None:
        frames = [_labels(run, labels, each_rater=True)]
    elif better or width:
        frames = [run.truth.assign(rater="truth")]
    else:
        frames = [ratings_of_people(run.scored, list(run.scores.keys))]
    sheet = planning_sheet(run.scored, drawn, name, labels_of(frames, drawn.keys, wanted), alpha=alpha)
    show_in_report(folder, "plan", [sheet])
    return [sheet]


def correction_of(
    folder: str | os.PathLike[str],
    judges: Sequence[str] = (),
    *,
    aspects: Sequence[str] = (),
    labels: str | os.PathLike[str] | None = None,
    labelled: int | None = None,
    least: float | None = None,
    alpha: float = 0.05,
    seed: int = 0,
) -> list[Sheet]:
    """Say what people would have said of all units of a run; the options are those of `metaeval correct`.

    Systems that are measured by labels are corrected by topic, other studies by unit.
    """
    run = open_run(folder)
    values = kind_named(run.record.study.kind).values_by_cluster(run.scored)
    if values is not None:
        held = list(samples_by_cluster(values, run.record.truth.spec, judges))
    else:
        names = [one_of(name, list(run.scores.evaluators), "the run has no evaluator") for name in judges]
        if not (names := list(dict.fromkeys(names or run.judges))):
            raise MetaevalError("the run has no judge; name the evaluators that are corrected with --judge")
        given = _labels(run, labels)
        known = list(map(str, run.scores.frame["aspect"].unique()))
        wanted = [one_of(aspect, known, "there is no aspect", "there are") for aspect in aspects] or known
        held = list(samples(run.scored, names, wanted, given, least=least))
    if labelled is not None:
        held = [withholding(each, labelled, seed) for each in held]
    simulated = run.scores.simulation.among([name for each in held for name in each.judges])
    sheets = correcting_sheets(held, alpha=alpha, seed=seed, simulated=simulated)
    show_in_report(folder, "correct", sheets)
    return sheets


def _labels(run: OpenRun, path: str | os.PathLike[str] | None, *, each_rater: bool = False) -> pd.DataFrame:
    """Return what people said: that of a table, the mean over raters or each, or the truth of the run."""
    if path is None:
        return run.truth
    keys = list(run.scores.keys)
    given = pd.read_csv(path, dtype=dict.fromkeys(keys, str))
    if lacking := [c for c in (*keys, "aspect", "rating") if c not in given]:
        raise MetaevalError(f"{path} has no column {lacking[0]!r}")
    if each_rater:
        return given if "rater" in given else given.assign(rater="")
    columns = ["rating", *(["probability"] if "probability" in given else [])]
    given = given.groupby([*keys, "aspect"])[columns].mean().reset_index()
    if "probability" in given and not given["probability"].dropna().between(0, 1, inclusive="right").all():
        raise MetaevalError(f"{path} has a probability that is not above 0 and at most 1")
    return given
