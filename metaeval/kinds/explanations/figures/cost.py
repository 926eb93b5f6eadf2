"""Judges by what they cost and how well they agree with the truth, with the frontier as a step."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metaeval.engine.figures.figure import Figure, first_choices
from metaeval.engine.figures.style import (
    FILLING,
    GREY,
    HUNDRED,
    PALETTE,
    SHAPES,
    hundred,
    layer,
    nominal,
    number,
    scale_of,
    with_interval,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from metaeval.engine.sheet import Sheet

_WIDE = 20  # largest over smallest cost, from which on equal steps are equal factors
_NARROW = 3  # and up to which an axis from zero would be mostly empty


def cost(sheet: Sheet, first: Mapping[str, str]) -> Figure:
    """Draw what `metaeval.kinds.explanations.cost_accuracy.cost_accuracy` returned."""
    frame = sheet.frame
    models, ways = frame["model"].unique().tolist(), frame["way"].unique().tolist()
    low, high = float(frame["cost"].min()), float(frame["cost"].max())
    usd = frame["unit"].iloc[0] == "usd"
    factors = low > 0 and high / low > _WIDE
    close = 0 < low < high <= _NARROW * low
    x = number(
        "cost",
        title="USD per text" if usd else "tokens per text",
        scale={"type": "log"} if factors else {"zero": False, "padding": 20} if close else {"zero": True},
        axis={"format": "$~g" if usd else ",~r", "tickCount": 6},
    )
    up = {"title": HUNDRED, "scale": {"zero": False}}
    legend = {"orient": "top", "columns": 1}
    colour = nominal(
        "model",
        title="model and prompt",
        scale=scale_of(models, PALETTE),
        legend={**legend, "labelLimit": 420},
    )
    shape = nominal(
        "way", title="asked", scale=scale_of(ways, SHAPES), legend={**legend, "symbolFillColor": GREY}
    )
    judge, *interval = with_interval(evaluator="judge")
    tooltip = [judge, number("cost", title=x["title"], format=".4~g"), *interval]
    estimate, low_end = number("estimate_100", **up), number("ci_low_100", **up)
    step = {"interpolate": "step-after", "strokeWidth": 1.5, "strokeDash": [5, 3], "color": GREY}
    line = {"x": x, "y": low_end, "y2": {"field": "ci_high_100"}, "color": colour}
    dot = {"x": x, "y": estimate, "color": colour, "shape": shape, "tooltip": tooltip}
    layers = [
        {"transform": [{"filter": "datum.frontier"}], **layer("line", {"x": x, "y": estimate}, **step)},
        layer("rule", line, strokeWidth=1.5, opacity=0.6),
        layer("point", dot, filled=True, size=90, opacity=1),
    ]
    chart = {
        "description": (
            f"{frame['evaluator'].nunique()} judges: cost per text on the horizontal axis, correlation with "
            "the truth on the vertical one; a step line joins the Pareto frontier."
        ),
        "transform": hundred("estimate", "ci_low", "ci_high"),
        **FILLING,
        "height": 320,
        "layer": layers,
    }
    return Figure(sheet, chart, first_choices(frame, first, ("aspect", "level", "coefficient")))
