"""Correlations as a board: aspects, levels and coefficients are its dimensions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metaeval.base.records import AVERAGE
from metaeval.engine.board import Board, BoardDimension, SecondEstimate
from metaeval.engine.sentences import (
    GENERATOR_INTERVALS,
    interval_sentence,
    no_interval_sentences,
    policy_sentences,
    true_means_sentence,
)

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from metaeval.base.records import Correlations
    from metaeval.engine.board import Cell

COLUMN = ("aspect", "level", "coefficient")
"""The dimensions of correlations."""

COEFFICIENT_NAMES = {"pearson": "Pearson's r", "spearman": "Spearman's ρ", "kendall": "Kendall's τ-b"}


def correlation_board(result: Correlations, first: Cell | None = None) -> Board:
    """Return correlations as a board that shows one column first: the average, if it is left out.

    The average over aspects is left out where it is that of a single one.
    """
    frame, bootstrap = result.frame, result.policy.get("bootstrap")
    aspects, levels, coefficients = ([str(v) for v in frame[c].unique()] for c in COLUMN)
    if AVERAGE in aspects:
        aspects.remove(AVERAGE)
        if len(aspects) == 1:
            frame = frame[frame["aspect"] != AVERAGE]
        else:
            aspects.append(AVERAGE)
    shown = {"aspect": AVERAGE, **(first or {})}
    return Board(
        frame,
        (
            BoardDimension(
                "aspect",
                {a: "average over aspects" if a == AVERAGE else a for a in aspects},
                first=shown["aspect"] if shown["aspect"] in aspects else "",
                total=AVERAGE,
                spoken={AVERAGE: "the average over aspects"},
            ),
            BoardDimension(
                "level", {level: f"{level} level" for level in levels}, first=shown.get("level", "")
            ),
            BoardDimension(
                "coefficient",
                {c: COEFFICIENT_NAMES.get(c, c) for c in coefficients},
                first=shown.get("coefficient", ""),
                spoken={c: c for c in coefficients},
            ),
        ),
        estimate="{coefficient}",
        relation="with the truth",
        noun="coefficient",
        second=_corrected(result.policy) if "generator" in levels else None,
        form="hundred",
        columns=("aspect", "level"),
        counts={"n_undefined": "undefined groups", "n_missing": "missing scores"},
        sums={
            "n_units": ("units", "No unit entered."),
            "n_groups": ("groups", "There was no group."),
            "n_undefined": ("undefined groups", "No group was undefined."),
            "n_missing": ("missing scores", "No score was missing."),
        },
        intervals=interval_sentence(bootstrap) if bootstrap else "",
        notes=policy_sentences(result.policy),
        kinds=result.kinds,
        simulated=result.simulation,
    )


def _corrected(policy: Mapping[str, Any]) -> SecondEstimate:
    """Return what generator level has beside the plain estimate."""
    bootstrap = policy.get("bootstrap")
    many = f"very many {bootstrap['cluster'] if bootstrap else 'user'}s would give"
    made = (
        (true_means_sentence(bootstrap), *no_interval_sentences(policy.get("no_interval", {})))
        if bootstrap
        else ()
    )
    return SecondEstimate(
        "corrected",
        "corrected",
        f"For the noise of the means of generators: the correlation that {many}",
        f"Corrected: an estimate of the correlation of the means that {many}. Noise in the means lowers the "
        "plain correlation, the dot. The interval is that of the corrected one.",
        at={"level": "generator"},
        made=made,
        intervals=GENERATOR_INTERVALS,
    )
