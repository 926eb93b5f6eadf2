"""Figures of exposure: agreement weighted and unweighted, against the truth where it is known, and by bin."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metaeval.base.simulation import REAL
from metaeval.engine.figures.figure import Figure, first_choices
from metaeval.engine.figures.style import (
    BLUE,
    FILLING,
    GREY,
    VERMILION,
    by_name,
    layer,
    nominal,
    number,
    scale_of,
)
from metaeval.engine.sheet import Column, Sheet
from metaeval.kinds.exposure import files
from metaeval.kinds.exposure.pair_auc import ALL

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import pandas as pd

    from metaeval.base.simulation import Simulation
    from metaeval.engine.board import Board

FIGURES = ("exposure_bias", "agreement_by_bin")
WEIGHTINGS = ("weighted", "unweighted")

_NUMBERS = (
    Column("evaluator", "Evaluator"),
    Column("weighting", "Weighting"),
    Column("estimate", "PairAUC", "decimal", "ci_low", "ci_high"),
)
_TRUTH = Column("truth", "Truth", "decimal")


def exposure_figures(
    tables: Mapping[str, pd.DataFrame], board: Board, first: Mapping[str, str]
) -> Iterator[Figure]:
    """Yield the figures of the tables that there are.

    Parameters
    ----------
    tables
        Name of a file → its table.
    first
        Values to show first.
    """
    table = tables[files.PAIR_AUC]
    said = table["weighted"].astype(str).str.lower().map({"true": WEIGHTINGS[0], "false": WEIGHTINGS[1]})
    frame = table.assign(weighting=said)
    yield exposure_bias(frame[frame["bin"] == ALL], board.simulated)
    binned = frame[frame["bin"] != ALL]
    if len(binned):
        yield _by_bin(binned, board, first)


def exposure_bias(frame: pd.DataFrame, simulated: Simulation = REAL) -> Figure:
    """Draw PairAUC with and without weights, and the truth where it is known.

    Parameters
    ----------
    frame
        A row per evaluator and weighting (`WEIGHTINGS`): ``estimate``, ``ci_low``, ``ci_high``, and ``truth``
        where it is known: agreement if exposure did not depend on popularity.
    """
    known = "truth" in frame
    y = nominal("evaluator", title=None, sort=None)
    x = number("estimate", title="PairAUC", scale={"zero": False})
    colour = nominal(
        "weighting", title=None, scale=scale_of(WEIGHTINGS, (BLUE, VERMILION)), legend={"orient": "top"}
    )
    beside = {"field": "weighting", "sort": list(WEIGHTINGS)}
    tooltip = [
        nominal("evaluator", title="evaluator"),
        nominal("weighting", title="weighting"),
        number("estimate", title="PairAUC", format=".4f"),
        number("ci_low", title="from", format=".4f"),
        number("ci_high", title="to", format=".4f"),
    ]
    own = {"y": y, "yOffset": beside, "color": colour}
    ends = {**own, "x": number("ci_low", title="PairAUC"), "x2": {"field": "ci_high"}}
    truth = {"y": y, "x": number("truth", title="PairAUC")}
    chart = {
        "description": "PairAUC of each evaluator, weighted by inverse propensities and not.",
        **FILLING,
        "height": {"step": 44, "for": "position"},
        "layer": [
            *([layer("tick", truth, color=GREY, thickness=3, size=40)] if known else []),
            layer("rule", ends, strokeWidth=2),
            layer("point", {**own, "x": x, "tooltip": tooltip}, filled=True, size=70, opacity=1),
        ],
    }
    notes = (
        "Where popular items are shown more, unweighted agreement is that on popular items.",
        *(["The grey tick is the agreement if all items were shown alike."] if known else []),
    )
    columns = (*_NUMBERS, *([_TRUTH] if known else []))
    sheet = Sheet(FIGURES[0], "Agreement with and without weights", frame, columns, notes, simulated)
    return Figure(sheet, chart)


def _by_bin(frame: pd.DataFrame, board: Board, first: Mapping[str, str]) -> Figure:
    names = [str(n) for n in frame["evaluator"].unique()]
    x = nominal("bin", title="bin of popularity, the most popular first", sort=None, axis={"labelAngle": 0})
    y = number("estimate", title="PairAUC", scale={"zero": False})
    apart = by_name("evaluator", names)
    colour = apart["color"]
    tooltip = [
        nominal("evaluator", title="evaluator"),
        nominal("bin", title="bin"),
        number("estimate", title="PairAUC", format=".4f"),
        number("n_pairs", title="pairs", format=","),
    ]
    ends = {"x": x, "y": number("ci_low", title="PairAUC"), "y2": {"field": "ci_high"}, "color": colour}
    chart = {
        "description": "PairAUC of each evaluator by bin of popularity.",
        **FILLING,
        "height": 320,
        "layer": [
            layer("rule", ends, opacity=0.4),
            layer("line", {"x": x, "y": y, "color": colour}, strokeWidth=2),
            layer("point", {"x": x, "y": y, **apart, "tooltip": tooltip}, filled=True, size=70),
        ],
    }
    columns = (_NUMBERS[0], Column("bin", "Bin"), *_NUMBERS[1:])
    sheet = Sheet(FIGURES[1], "Agreement by popularity", frame, columns, (), board.simulated)
    return Figure(sheet, chart, first_choices(frame, first, ["weighting"]))
