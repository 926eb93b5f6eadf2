"""Figures of slates: regret by task and difficulty, regret against coherence, and coherence by judge."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metaeval.base.records import Kind
from metaeval.engine.figures.figure import Figure, first_choices
from metaeval.engine.figures.style import (
    BLUE,
    FILLING,
    GREY,
    by_kind,
    by_name,
    layer,
    nominal,
    number,
)
from metaeval.engine.sheet import Column, Sheet
from metaeval.kinds.slates import files
from metaeval.kinds.slates.regret import measured

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import pandas as pd

    from metaeval.engine.board import Board

FIGURES = ("regret_by_task", "regret_by_difficulty", "regret_against_coherence", "coherence_by_judge")

_REGRET = {"title": "regret", "scale": {"zero": True}}
_COIN = "The grey tick is the regret of a coin."
_SPACED = "replace(datum.label, regexp('_', 'g'), ' ')"
_TASK, _AXIOM = Column("task", "Task"), Column("axiom", "Axiom", "code")
_NUMBERS = (
    Column("evaluator", "Evaluator"),
    _TASK,
    Column("similarity", "Similarity", "hundredths"),
    Column("regret", "Regret", "decimal", "ci_low", "ci_high"),
    Column("chance", "Coin", "decimal"),
)


def slate_figures(
    tables: Mapping[str, pd.DataFrame], board: Board, first: Mapping[str, str]
) -> Iterator[Figure]:
    """Yield the figures of the tables that there are.

    Parameters
    ----------
    tables
        Name of a file → its table.
    first
        Values to show first, such as those of ``task``.
    """
    regret = tables[files.REGRET]
    yield _by_task(regret.merge(_similarities(tables[files.UNITS])), board)
    if files.DIFFICULTY in tables:
        yield _by_difficulty(tables[files.DIFFICULTY], board, first)
    if files.COHERENCE in tables:
        axioms = tables[files.COHERENCE]
        both = axioms.merge(regret, on=["evaluator", "task"], suffixes=("_axiom", ""))
        yield _against(both, board, first)
        yield _coherence(axioms, board, first)


def _similarities(units: pd.DataFrame) -> pd.DataFrame:
    return units[measured(units)].groupby("task", observed=True)[["similarity"]].mean().reset_index()


def _by_task(frame: pd.DataFrame, board: Board) -> Figure:
    frame = frame.assign(
        kind=[str(board.kinds.get(e, Kind.RECORDED)) for e in frame["evaluator"]],
        label=[
            t if s != s else f"{t}, similarity {s:.2f}"  # noqa: PLR0124 NaN
            for t, s in zip(frame["task"], frame["similarity"], strict=True)
        ],
    )
    y = nominal("label", title=None)
    tooltip = [
        nominal("evaluator", title="evaluator"),
        number("regret", title="regret", format=".4f"),
        number("skill", title="skill", format=".2f"),
    ]
    chart = {
        "description": "The regret of every evaluator, by task, with the mean similarity of the two slates.",
        **FILLING,
        "height": {"step": 56},
        "layer": [
            layer(
                "tick",
                {"y": y, "x": number("chance", **_REGRET)},
                color=GREY,
                thickness=3,
                size=36,
            ),
            layer(
                "point",
                {
                    "y": y,
                    "x": number("regret", **_REGRET),
                    **by_kind(list(frame["kind"])),
                    "tooltip": tooltip,
                },
                filled=True,
                size=70,
                opacity=0.8,
            ),
        ],
    }
    notes = (f"A mark is an evaluator. {_COIN}",)
    return Figure(Sheet(FIGURES[0], "Regret by task", frame, _NUMBERS, notes, board.simulated), chart)


def _by_difficulty(frame: pd.DataFrame, board: Board, first: Mapping[str, str]) -> Figure:
    names = [str(n) for n in frame["evaluator"].unique()]
    x = number("similarity", title="similarity of the two slates", scale={"zero": False})
    y = number("regret", **_REGRET)
    apart = by_name("evaluator", names)
    colour = apart["color"]
    tooltip = [
        nominal("evaluator", title="evaluator"),
        number("similarity", title="similarity", format=".2f"),
        number("regret", title="regret", format=".4f"),
        number("chance", title="coin", format=".4f"),
    ]
    ends = {"x": x, "y": number("ci_low"), "y2": {"field": "ci_high"}, "color": colour}
    chart = {
        "description": "The regret of each evaluator by how similar the two slates are.",
        **FILLING,
        "height": 320,
        "layer": [
            layer("line", {"x": x, "y": number("chance")}, color=GREY, strokeDash=[4, 3]),
            layer("rule", ends, opacity=0.4),
            layer("line", {"x": x, "y": y, "color": colour}, strokeWidth=2),
            layer(
                "point",
                {"x": x, "y": y, **apart, "tooltip": tooltip},
                filled=True,
                size=70,
                opacity=1,
            ),
        ],
    }
    notes = ("Quantiles of similarity, each at its mean. The dashed line is the regret of a coin.",)
    sheet = Sheet(FIGURES[1], "Regret by difficulty", frame, _NUMBERS, notes, board.simulated)
    return Figure(sheet, chart, first_choices(frame, first, ["task"]))


def _against(frame: pd.DataFrame, board: Board, first: Mapping[str, str]) -> Figure:
    names = [str(n) for n in frame["evaluator"].unique()]
    x = number(
        "estimate", title="share that keeps to the axiom", axis={"format": ".0%"}, scale={"zero": False}
    )
    y = number("regret", **_REGRET)
    tooltip = [
        nominal("evaluator", title="evaluator"),
        number("estimate", title="share", format=".1%"),
        number("regret", title="regret", format=".4f"),
    ]
    chart = {
        "description": "Evaluators by how far they keep to an axiom, and by their regret, with intervals.",
        **FILLING,
        "height": 320,
        "layer": [
            layer("rule", {"y": number("chance")}, color=GREY, strokeDash=[4, 3]),
            layer(
                "rule",
                {"x": x, "y": number("ci_low"), "y2": {"field": "ci_high"}},
                color=GREY,
                opacity=0.5,
            ),
            layer(
                "rule",
                {"y": y, "x": number("ci_low_axiom"), "x2": {"field": "ci_high_axiom"}},
                color=GREY,
                opacity=0.5,
            ),
            layer(
                "point",
                {"x": x, "y": y, **by_name("evaluator", names), "tooltip": tooltip},
                filled=True,
                size=70,
                opacity=1,
            ),
        ],
    }
    columns = (
        Column("evaluator", "Evaluator"),
        _TASK,
        _AXIOM,
        Column("estimate", "Share", "share", "ci_low_axiom", "ci_high_axiom"),
        Column("regret", "Regret", "decimal", "ci_low", "ci_high"),
    )
    notes = ("A mark is an evaluator. The dashed line is the regret of a coin.",)
    sheet = Sheet(FIGURES[2], "Regret against coherence", frame, columns, notes, board.simulated)
    return Figure(sheet, chart, first_choices(frame, first, ["task", "axiom"]))


def _coherence(frame: pd.DataFrame, board: Board, first: Mapping[str, str]) -> Figure:
    axis = {"title": None, "ticks": False, "domain": False}
    slanted = {**axis, "labelAngle": -30, "labelLimit": 160, "labelExpr": _SPACED}
    dark = {"condition": {"test": "datum.estimate > 0.85", "value": "#FFFFFF"}, "value": "#222222"}
    tooltip = [
        nominal("evaluator", title="evaluator"),
        nominal("axiom", title="axiom"),
        number("estimate", title="share", format=".1%"),
        number("chance", title="chance", format=".1%"),
    ]
    colour = number("estimate", scale={"domain": [0, 1], "range": ["#F7F7F7", BLUE]}, legend=None)
    chart = {
        "description": "A heat map of the axioms of preference, by evaluator.",
        "width": {"step": 84},
        "height": {"step": 26},
        "encoding": {
            "x": nominal("axiom", sort=None, axis=slanted),
            "y": nominal("evaluator", sort=None, axis=axis),
        },
        "layer": [
            layer("rect", {"color": colour, "tooltip": tooltip}),
            layer("text", {"text": number("estimate", format=".0%"), "color": dark}, fontSize=11),
        ],
    }
    columns = (
        Column("evaluator", "Evaluator"),
        _TASK,
        _AXIOM,
        Column("estimate", "Share", "share", "ci_low", "ci_high"),
        Column("chance", "Chance", "share"),
    )
    sheet = Sheet(FIGURES[3], "Coherence by evaluator", frame, columns, (), board.simulated)
    width = 84 * frame["axiom"].nunique() + 200
    return Figure(sheet, chart, first_choices(frame, first, ["task"]), caption_width=max(520, width))
