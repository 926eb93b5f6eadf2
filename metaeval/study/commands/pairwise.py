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
from metaeval.sources.verdicts import read_verdicts
from metaeval.trust.verdicts.sheets import pairwise_sheets

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

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
    if Path(path).is_file():
        verdicts, scores = read_verdicts(path), None
    else:
        run = open_run(path)
        if run.verdicts is None:
            raise MetaevalError(
                f"the run in {path} has no verdicts on pairs; give its study a pairwise evaluator, such as "
                "Pairwise('openai/gpt-4o')"
            )
        verdicts, scores = run.verdicts, run.scores
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
