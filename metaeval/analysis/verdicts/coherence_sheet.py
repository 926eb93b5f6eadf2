"""The coherence of verdicts as a sheet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metaeval.analysis.verdicts.pairs import PARTS
from metaeval.base.simulation import REAL
from metaeval.engine.sheet import Column, Sheet

if TYPE_CHECKING:
    import pandas as pd

    from metaeval.base.simulation import Simulation

_TRANSITIVITY = (
    "Shares that are 1 for a coherent judge. Transitivity: triples of a group that are no cycle, of pairs "
    "whose verdicts all name one winner; expected: by Bradley and Terry's model of the same wins."
)
_SAME = (
    "Asymmetry: pairs whose verdict is the same in both orders, each repeat by itself. Repeatability: two "
    "verdicts on a pair in the same order that are the same. Irreflexivity: of two identical sides, 1 less "
    "how far the share of the first is from one half, twice."
)
_CHANCE = (
    "First position: verdicts for what was shown first; one half is even. Chance: a judge that does not look "
    "and calls as many ties. Missing verdicts are left out."
)


def coherence_sheet(frame: pd.DataFrame, *, resamples: int, seed: int, simulated: Simulation = REAL) -> Sheet:
    """Lay out what `metaeval.analysis.verdicts.coherence.coherence` found."""
    several = len(frame["task"].unique()) > 1
    intervals = (
        f"Brackets hold 95 % bootstrap intervals ({resamples:,} resamples of groups, or of pairs where all "
        f"are of one group, in at most {PARTS:,} parts; seed {seed})."
    )
    columns = (
        Column("evaluator", "Judge"),
        *([Column("task", "Task")] if several else []),
        Column("axiom", "Axiom", "code"),
        Column("estimate", "Share", "share", "ci_low", "ci_high"),
        Column("chance", "Chance", "share"),
        Column("expected", "Expected", "share"),
        Column("in_cycles", "In cycles", "share"),
        Column("n", "Of", "count"),
        Column("n_clusters", "Groups", "count"),
        Column("n_missing", "Missing", "count"),
    )
    return Sheet(
        "coherence",
        "Whether verdicts are coherent",
        frame,
        columns,
        (_TRANSITIVITY, _SAME, _CHANCE, intervals),
        simulated,
    )
