"""Correlations as a board: aspects, levels and coefficients are its dimensions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metaeval.base.records import AVERAGE
from metaeval.engine.board import Board, BoardDimension, SecondEstimate

if TYPE_CHECKING:
    from metaeval.base.records import Correlations
    from metaeval.engine.comparison import By

COEFFICIENT_NAMES = {"pearson": "Pearson's r", "spearman": "Spearman's ρ", "kendall": "Kendall's τ-b"}


def correlation_board(result: Correlations, first: By) -> Board:
    """Return correlations as a board that shows one column first.

    The average over aspects is left out where it is that of a single one.
    """
    frame, bootstrap = result.frame, result.policy.get("bootstrap")
    aspects, levels, coefficients = ([str(v) for v in frame[c].unique()] for c in first._fields)
    if len(aspects) == 2 and AVERAGE in aspects:
        aspects.remove(AVERAGE)
        frame = frame[frame["aspect"] != AVERAGE]
    return Board(
        frame,
        (
            BoardDimension(
                "aspect",
                {a: "average over aspects" if a == AVERAGE else a for a in aspects},
                first=first.aspect if first.aspect in aspects else "",
            ),
            BoardDimension("level", {level: f"{level} level" for level in levels}, first=first.level),
            BoardDimension(
                "coefficient", {c: COEFFICIENT_NAMES.get(c, c) for c in coefficients}, first=first.coefficient
            ),
        ),
        estimate="{coefficient}",
        relation="with the truth",
        noun="coefficient",
        second=_corrected(bootstrap["cluster"]) if bootstrap and frame["corrected"].notna().any() else None,
        form="hundred",
        columns=("aspect", "level"),
        counts={"n_undefined": "undefined groups", "n_missing": "missing scores"},
    )


def _corrected(cluster: str) -> SecondEstimate:
    """Return what generator level has beside the plain estimate."""
    many = f"very many {cluster}s would give"
    return SecondEstimate(
        "corrected",
        "corrected",
        f"For the noise of the means of generators: the correlation that {many}",
        f"Corrected: the correlation of the means that {many}, as noise in the means lowers the plain one, "
        "which is the dot. The interval is of the corrected one.",
    )
