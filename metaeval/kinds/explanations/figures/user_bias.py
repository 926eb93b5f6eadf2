"""A strip of users for each evaluator: by how much its scores are too high or too low."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from metaeval.engine.figures.figure import Figure, first_choices
from metaeval.engine.figures.style import BLUE, FILLING, VERMILION, layer, nominal, number, row_axis

if TYPE_CHECKING:
    from collections.abc import Mapping

    from metaeval.engine.sheet import Sheet

_LINE = 30  # height of an evaluator, in pixels


def user_bias(sheet: Sheet, first: Mapping[str, str]) -> Figure:
    """Draw what `metaeval.analysis.agreement.user_bias.user_bias` returned."""
    frame = sheet.frame
    names = frame["evaluator"].unique().tolist()
    who = next(c.title for c in sheet.columns if c.name == "who")
    rows = nominal("evaluator", sort=names, axis=row_axis(len(names)))
    across: dict[str, Any] = {
        "type": "quantitative",
        "title": "mean of score − truth (points of the scale)",
        "axis": {"tickCount": 9, "labelOverlap": "greedy", "labelSeparation": 6},
    }

    def summed(column: str) -> dict[str, Any]:
        # The same number in all rows of an evaluator: any of them will do.
        return {"field": column, "aggregate": "min", **across}

    tooltip = [
        nominal("evaluator", title="evaluator"),
        nominal("who", title=who.lower()),
        number("bias", title="score − truth", format="+.2f"),
        number("n_units", title="units", format=","),
    ]
    bar = {"y": rows, "x": summed("q1"), "x2": {"field": "q3", "aggregate": "min"}}
    tick = {"y": rows, "x": {"field": "bias", **across}, "tooltip": tooltip}
    diamond = {"filled": True, "shape": "diamond", "size": 90, "color": VERMILION, "opacity": 1}
    chart = {
        "description": (
            f"Strips of the mean of score minus truth, one tick per {who.lower()}, for {len(names)} "
            "evaluators; "
            "a bar spans the middle half, a diamond is the mean."
        ),
        **FILLING,
        "height": _LINE * len(names),
        "layer": [
            layer("bar", bar, height=16, color=BLUE, opacity=0.3),
            layer("rule", {"x": {"datum": 0, **across}}, strokeWidth=1.2),
            layer("tick", tick, thickness=1.5, height=14, color=BLUE, opacity=0.8),
            layer("point", {"y": rows, "x": summed("mean")}, **diamond),
        ],
    }
    return Figure(sheet, chart, first_choices(frame, first, ("aspect",)))
