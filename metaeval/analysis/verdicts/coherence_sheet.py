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
    "Shares that are 1 for a coherent judge. Transitivity: triples without a cycle, among pairs whose "
    "verdicts all name one winner; expected: by Bradley and Terry's model of the same wins."
)
_SAME = (
    "Asymmetry: pairs with the same verdict in both orders, within each repeat. Repeatability: equal "
    "verdicts among two on a pair in the same order. Irreflexivity: for two identical sides, 1 minus twice "
    "the distance of the share of the first from one half."
)
_CHANCE = (
    "First position: verdicts for the side shown first; 50 % is even. Chance: a judge that chooses at "
    "random, with as many ties. Missing verdicts are left out."
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
        "Coherence of verdicts",
        frame,
        columns,
        (_TRANSITIVITY, _SAME, _CHANCE, intervals),
        simulated,
    )
