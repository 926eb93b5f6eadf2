"""A heat map of evaluator × evaluator, with the truth as its last row."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metaeval.engine.figures.figure import Figure, first_choices
from metaeval.engine.figures.style import HUNDRED, hundred, layer, nominal, number, rounded, shortened

if TYPE_CHECKING:
    from collections.abc import Mapping

    from metaeval.engine.sheet import Sheet

_MOST_WITH_NUMBERS = 24
_DEEP = -92


def likeness(sheet: Sheet, first: Mapping[str, str]) -> Figure:
    """Draw what `metaeval.analysis.agreement.likeness.likeness` returned."""
    frame = sheet.frame
    n = frame["second"].nunique()
    numbered = n <= _MOST_WITH_NUMBERS
    step = 34 if numbered else 11
    labels = {
        "title": None,
        "labelOverlap": False,
        "labelExpr": shortened(44),
        "ticks": False,
        "domain": False,
        "labelFontSize": 11 if numbered else 9,
    }
    slanted = {**labels, "labelAngle": -45 if numbered else -90, "labelLimit": 260}
    encoding = {
        "x": nominal("first", sort={"field": "first_place", "op": "min"}, axis=slanted),
        "y": nominal("second", sort={"field": "second_place", "op": "min"}, axis=labels),
    }
    colour = number(
        "r_100",
        title=HUNDRED,
        # From blue (as one goes up the other goes down) over white to orange (both go up together).
        scale={"domain": [-100, 0, 100], "range": ["#0072B2", "#F7F7F7", "#D55E00"], "clamp": True},
        legend={"orient": "top", "gradientLength": 220, "titleLimit": 400},
    )
    tooltip = [
        nominal("first", title="evaluator"),
        nominal("second", title="and"),
        rounded("r", HUNDRED),
        number("n_units", title="units", format=","),
    ]
    layers = [layer("rect", {"color": colour, "tooltip": tooltip})]
    if numbered:
        # Black has more contrast than white on all but the deepest blue.
        ink = {"condition": {"test": f"datum.r_100 < {_DEEP}", "value": "#FFFFFF"}, "value": "#000000"}
        text = {"text": number("r_100", format=".0f"), "color": ink}
        layers.append({"transform": [{"filter": "isValid(datum.r_100)"}], **layer("text", text, fontSize=10)})
    chart = {
        "description": (
            f"Heat map of the correlations between {n} evaluators and the truth, the last row; those "
            "that score alike stand together."
        ),
        "transform": hundred("r"),
        "width": {"step": step},
        "height": {"step": 26 if numbered else step},
        "encoding": encoding,
        "layer": layers,
    }
    return Figure(
        sheet,
        chart,
        first_choices(frame, first, ("aspect", "coefficient")),
        caption_width=max(520, n * step + 260),
    )
