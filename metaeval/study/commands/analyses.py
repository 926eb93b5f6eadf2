"""A finished run → the sheets of an analysis: ensembles, generators, power."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metaeval.analysis.ensembles.frontier import Choosing
from metaeval.analysis.ensembles.sheets import ensemble_sheets
from metaeval.analysis.ensembles.subsets import Costs, ensembles
from metaeval.analysis.generators.estimates import estimates_sheet
from metaeval.analysis.generators.ranking import rank_generators
from metaeval.analysis.generators.sheets import best_evaluator, ranking_sheets, trusted
from metaeval.analysis.power.sheet import power_sheet
from metaeval.analysis.power.sizes import power
from metaeval.base.errors import MetaevalError, nearest
from metaeval.base.records import AVERAGE, Kind
from metaeval.engine.intervals import Bootstrap
from metaeval.judging.cost import costs_of
from metaeval.runs.finished import open_run

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from metaeval.analysis.ensembles.subsets import Unit
    from metaeval.base.records import ScoreTable
    from metaeval.engine.sheet import Sheet
    from metaeval.runs.finished import OpenRun


def ensembles_of(
    folder: str | os.PathLike[str],
    judges: Sequence[str] = (),
    *,
    levels: Sequence[str] = (),
    aspects: Sequence[str] = (),
    resamples: int = 10_000,
    seed: int = 0,
) -> list[Sheet]:
    """Analyse the ensembles of judges of a finished run; judges, levels and aspects are its own if empty.

    Raises
    ------
    MetaevalError
        For an unknown name, and too few or too many judges.
    """
    run = open_run(folder, rated=True)
    names = judges_of(run, judges)
    found = ensembles(
        run.prepared(levels=levels or None, coefficients=["pearson"], evaluators=names),
        aspects=aspects or None,
        costs=costs_per_text(run.scores, names),
        how=Choosing(resamples=resamples, resamples_in_fold=min(resamples, 1_000), seed=seed),
    )
    return ensemble_sheets(found, simulated=run.scores.simulation.among(names))


def judges_of(run: OpenRun, wanted: Sequence[str] = ()) -> list[str]:
    """Return the evaluators to combine, two or more: those that are wanted, or the judges of the run."""
    known = list(run.scores.evaluators)
    for name in wanted:
        if name not in known:
            raise MetaevalError(f"the run has no evaluator {name!r} to combine{nearest(name, known)}")
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
    """Return the cost per text of each evaluator: in USD if all are known, else in tokens, else None."""
    known = costs_of(scores).set_index("evaluator").reindex(list(names))
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

    Raises
    ------
    MetaevalError
        For an unknown aspect or evaluator, and fewer than two generators.
    """
    options = Bootstrap.read({"resamples": resamples, "seed": seed})
    run = open_run(folder, rated=True)
    names = trusted(run.scores, evaluators)
    data = run.prepared(levels=["dataset"], evaluators=names)
    chosen = data.aspects if aspect is None else [aspect]
    found = rank_generators(data, aspects=chosen, bootstrap=options)
    simulated = run.scores.simulation
    scale = run.record.data.scale
    sheets = ranking_sheets(found, data, truth=run.record.truth.spec, scale=scale, simulated=simulated)
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
    found = power(data, evaluators, aspect=aspect, users=users, units=units, studies=studies, seed=seed)
    return [power_sheet(found, simulated=run.scores.simulation)]
