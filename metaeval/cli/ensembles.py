"""``metaeval ensembles``: what the means of several judges reach, and what they cost."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from metaeval.cli.group import begin, talk
from metaeval.cli.sheets import sheet_options, tell_sheets

if TYPE_CHECKING:
    from collections.abc import Sequence

    from metaeval.analysis.ensembles import Costs, Unit
    from metaeval.sheet import Sheet
    from metaeval.study.opened import OpenRun
    from metaeval.types import ScoreTable

_NAMED = 12  # evaluators that a message names


@click.command()
@click.argument("run_folder", metavar="RUN", type=click.Path(path_type=Path))
@click.option(
    "--judges",
    "judges",
    multiple=True,
    metavar="NAME",
    help="A judge to combine; give it again for each.  [default: the run's judges]",
)
@click.option("--level", "levels", multiple=True, help="This level only; may be given again.")
@click.option("--aspect", "aspects", multiple=True, help="This aspect only; may be given again.")
@click.option("--resamples", type=click.IntRange(1), default=10_000, show_default=True)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@sheet_options
@talk
def ensembles(
    run_folder: Path,
    *,
    judges: tuple[str, ...],
    levels: tuple[str, ...],
    aspects: tuple[str, ...],
    resamples: int,
    seed: int,
    suffix: str,
    out: Path | None,
) -> None:
    """Compare the means of all subsets of the judges of the finished run in the folder RUN.

    By size; what each judge adds; how far they err alike; and the cheapest ensemble that is about as good as
    the best, chosen on some users and judged on others.
    """
    begin()
    tell_sheets(sheets_of(run_folder, judges, levels, aspects, resamples=resamples, seed=seed), suffix, out)


def sheets_of(
    run_folder: Path,
    judges: Sequence[str] = (),
    levels: Sequence[str] = (),
    aspects: Sequence[str] = (),
    *,
    resamples: int = 10_000,
    seed: int = 0,
) -> list[Sheet]:
    """Analyse the ensembles of judges of a finished run; what is empty is as the run has it.

    Raises
    ------
    MetaevalError
        If the run is none, a name in it is not known, or there are too few or too many judges.
    """
    from metaeval.analysis.ensemble_sheets import ensemble_sheets
    from metaeval.analysis.ensembles import ensembles as of_judges
    from metaeval.analysis.frontier import Choosing
    from metaeval.study.opened import open_run

    run = open_run(run_folder)
    names = judges_of(run, judges)
    found = of_judges(
        run.prepared(levels=levels or None, coefficients=["pearson"], evaluators=names),
        aspects=aspects or None,
        costs=costs_a_text(run.scores, names),
        how=Choosing(resamples=resamples, resamples_in_fold=min(resamples, 1_000), seed=seed),
    )
    simulated = run.scores.simulated or bool(run.scores.simulated_evaluators & set(names))
    return ensemble_sheets(found, simulated=simulated)


def judges_of(run: OpenRun, wanted: Sequence[str] = ()) -> list[str]:
    """Return the evaluators to combine: those that are wanted, or the judges of the run.

    Raises
    ------
    MetaevalError
        If one is not in the run or wanted twice, or there are fewer than two.
    """
    from metaeval.errors import MetaevalError, nearest
    from metaeval.types import Kind

    known = list(run.scores.evaluators)
    for name in wanted:
        if name not in known:
            raise MetaevalError(
                f"the run has no evaluator {name!r}, which --judges names{nearest(name, known)}"
            )
    if len(set(wanted)) < len(wanted):
        raise MetaevalError(f"--judges: {', '.join(wanted)} names one of them twice; give each once")
    kinds = run.scores.kinds
    names = list(wanted) or [n for n in known if kinds.get(n) == Kind.JUDGE]
    if len(names) < 2:
        others = [n for n in known if kinds.get(n) not in (Kind.BASELINE, Kind.ENSEMBLE)]
        have = f"--judges names {len(names)}" if wanted else f"the run has {len(names)} judges"
        given = ", ".join(others[:_NAMED]) + (f", and {len(others) - _NAMED} more" * (len(others) > _NAMED))
        raise MetaevalError(
            f"{have}, and an ensemble takes two or more: give two or more of its evaluators with --judges "
            f"({given or 'it has none'})"
        )
    return names


def costs_a_text(scores: ScoreTable, names: Sequence[str]) -> Costs | None:
    """Return what each evaluator costs for a text: USD if all are known, else tokens, else None."""
    from metaeval.analysis.ensembles import Costs
    from metaeval.study.costs import costs_of

    known = costs_of(scores).set_index("evaluator").reindex(list(names))
    columns: dict[Unit, str] = {"usd": "usd_per_text", "tokens": "tokens_per_text"}
    for unit, column in columns.items():
        of_judge = known[column].astype(float)
        if of_judge.notna().all() and (of_judge > 0).any():
            return Costs({name: float(of_judge[name]) for name in names}, unit)
    return None
