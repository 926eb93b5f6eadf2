"""A finished run, or a file of recorded verdicts → the sheets of its verdicts on pairs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, cast

from metaeval.analysis.verdicts.coherence import coherence
from metaeval.analysis.verdicts.coherence_sheet import coherence_sheet
from metaeval.base.errors import MetaevalError, one_of
from metaeval.base.simulation import REAL
from metaeval.kinds.kind import kind_named
from metaeval.runs.finished import open_run
from metaeval.sources.verdict_orders import read_orders
from metaeval.sources.verdicts import kept_columns, read_verdicts
from metaeval.trust.verdicts.accuracy import accuracy_sheet, preferred_by
from metaeval.trust.verdicts.sheets import pairwise_sheets

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    import pandas as pd

    from metaeval.base.records import ScoreTable
    from metaeval.engine.sheet import Sheet
    from metaeval.evaluators.verdicts import Flips


def coherence_of(
    path: str | os.PathLike[str],
    map_path: str | os.PathLike[str] | None = None,
    *,
    resamples: int = 10_000,
    seed: int = 0,
) -> Sheet:
    """Say whether recorded verdicts, or those of a finished run, are coherent.

    A run has verdicts of its pairwise evaluators, or of all, if its units are pairs, as duels of slates are.

    Raises
    ------
    MetaevalError
        If there are none, or a file comes without the map that says which column is what.
    """
    simulated = REAL
    if Path(path).is_dir():
        run = open_run(path)
        known = kind_named(run.scored.study.kind).orders(run.scored)
        if known is None:
            raise MetaevalError(f"the run in {path} has no verdicts on pairs")
        verdicts, simulated = known, run.scores.simulation
    elif map_path is None:
        raise MetaevalError(f"{path} needs a map that says what each column means; give one with --map")
    else:
        verdicts = read_orders(path, map_path)
    found = coherence(verdicts, resamples=resamples, seed=seed)
    return coherence_sheet(found, resamples=resamples, seed=seed, simulated=simulated)


def pairwise_of(
    path: str | os.PathLike[str],
    evaluators: Sequence[str] = (),
    *,
    flips: Flips | None = None,
    resamples: int = 1_000,
    seed: int = 0,
) -> list[Sheet]:
    """Say what became of pairs, and how each pairwise evaluator ranks the generators.

    ``path`` is that of a finished run, or of a file of recorded verdicts (`metaeval.sources.verdicts`), whose
    flips are ties by default. The options are those of `metaeval pairwise`.

    Raises
    ------
    MetaevalError
        If there are no verdicts, or none of an evaluator of that name.
    """
    verdicts, scores = _recorded(path)
    known = [str(e) for e in verdicts["evaluator"].unique()]
    for name in evaluators:
        one_of(name, known, "there are no verdicts of an evaluator", "there are")
    wanted = [name for name in known if name in evaluators] if evaluators else known
    signatures = scores.signatures if scores else {}
    return pairwise_sheets(
        verdicts[verdicts["evaluator"].isin(wanted)],
        flips={name: flips or cast("Flips", signatures.get(name, {}).get("flips", "tie")) for name in wanted},
        resamples=resamples,
        seed=seed,
        simulated=scores.simulation if scores else REAL,
    )


def accuracy_of(
    path: str | os.PathLike[str],
    by: Sequence[str] = (),
    *,
    gold: str | os.PathLike[str] | None = None,
    resamples: int = 10_000,
    seed: int = 0,
) -> Sheet:
    """Hold the verdicts of a finished run, or of a file, against gold preferences.

    The options are those of `metaeval verdicts accuracy`. ``gold`` is a file of others' verdicts; without it
    the gold preferences are those in the file at ``path``.

    Raises
    ------
    MetaevalError
        If there are no verdicts, or no gold preferences of them.
    """
    verdicts, scores = _recorded(path)
    if gold is not None:
        verdicts = preferred_by(read_verdicts(gold), verdicts)
    groups = by or (() if scores else kept_columns(verdicts))
    simulated = scores.simulation if scores else REAL
    return accuracy_sheet(verdicts, groups, resamples=resamples, seed=seed, simulated=simulated)


def _recorded(path: str | os.PathLike[str]) -> tuple[pd.DataFrame, ScoreTable | None]:
    """Return the verdicts in a file, or those of a finished run and its scores."""
    if not Path(path).is_dir():
        return read_verdicts(path), None
    run = open_run(path)
    if run.verdicts is None:
        raise MetaevalError(
            f"the run in {path} has no verdicts on pairs; give its study a pairwise evaluator, such as "
            "Pairwise('openai/gpt-4o')"
        )
    return run.verdicts, run.scores
