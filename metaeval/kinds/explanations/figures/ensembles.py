"""Boxes of the accuracy of ensembles by their size: one column per aspect, one row per level."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from metaeval.engine.figures.figure import Figure
from metaeval.engine.figures.style import BLUE, VERMILION, hundred, layer, nominal, number, rounded

if TYPE_CHECKING:
    from collections.abc import Mapping

    from metaeval.engine.sheet import Sheet


def ensembles(sheet: Sheet, _first: Mapping[str, str]) -> Figure:
    """Draw what `metaeval.analysis.ensembles.spread.ensemble_spread` returned."""
    frame = sheet.frame
    levels, aspects = frame["level"].unique().tolist(), frame["aspect"].unique().tolist()
    sizes = int(frame["n_judges"].max())
    across = {"field": "n_judges", "type": "ordinal", "title": "judges", "axis": {"labelAngle": 0}}
    up = {"title": "Pearson's r × 100", "scale": {"zero": False}}
    numbers = ("minimum", "q1", "median", "q3", "maximum", "mean")
    tooltip = [
        {"field": "n_judges", "type": "ordinal", "title": "judges"},
        number("n_subsets", title="subsets", format=","),
        *(rounded(n, n) for n in numbers),
    ]

    def shown(low: str, high: str = "") -> dict[str, Any]:
        ends = {"y2": {"field": f"{high}_100"}} if high else {}
        return {"x": across, "y": number(f"{low}_100", **up), **ends, "tooltip": tooltip}

    panel = max(110, 20 * sizes)
    width = min(18, int(0.6 * panel / sizes))
    chart = {
        "description": (
            f"Box plots of the accuracy of the means of 1 to {sizes} judges, one panel per aspect and level."
        ),
        "transform": hundred(*numbers),
        "facet": {
            "row": nominal("level", sort=levels, title=None, header={"labelExpr": "datum.value + ' level'"}),
            "column": nominal("aspect", sort=aspects, title=None, header={"labelLimit": panel}),
        },
        "spacing": {"row": 16, "column": 16},
        "spec": {
            "width": panel,
            "height": 130,
            "layer": [
                layer("rule", shown("minimum", "maximum"), strokeWidth=1.2),
                layer("bar", shown("q1", "q3"), width=width, color=BLUE, opacity=0.55),
                layer("tick", shown("median"), width=width, thickness=2, orient="horizontal"),
                layer("point", shown("mean"), filled=True, size=28, color=VERMILION, opacity=1),
            ],
        },
    }
    return Figure(sheet, chart, caption_width=len(aspects) * (panel + 16) + 60)
