"""Boxes of the accuracy of ensembles by their size: a column an aspect, a row a level."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from metaeval.reports.figures.figure import Figure
from metaeval.reports.figures.style import BLUE, VERMILION, hundred, rounded

if TYPE_CHECKING:
    from collections.abc import Mapping

    from metaeval.engine.sheet import Sheet


def ensembles(sheet: Sheet, _first: Mapping[str, str]) -> Figure:
    """Draw what `metaeval.analysis.ensembles.spread.ensemble_spread` returned."""
    frame = sheet.frame
    levels, aspects = frame["level"].unique().tolist(), frame["aspect"].unique().tolist()
    sizes = int(frame["n_judges"].max())
    across = {"field": "n_judges", "type": "ordinal", "title": "judges", "axis": {"labelAngle": 0}}
    up = {"type": "quantitative", "title": "Pearson's r × 100", "scale": {"zero": False}}
    numbers = ("minimum", "q1", "median", "q3", "maximum", "mean")
    tooltip = [
        {"field": "n_judges", "type": "ordinal", "title": "judges"},
        {"field": "n_subsets", "type": "quantitative", "title": "subsets", "format": ","},
        *(rounded(n, n) for n in numbers),
    ]

    def layer(mark: dict[str, Any], low: str, high: str = "") -> dict[str, Any]:
        ends = {"y2": {"field": f"{high}_100"}} if high else {}
        y = {"field": f"{low}_100", **up}
        return {"mark": mark, "encoding": {"x": across, "y": y, **ends, "tooltip": tooltip}}

    panel = max(110, 20 * sizes)
    width = min(18, int(0.6 * panel / sizes))
    chart = {
        "description": (
            f"Box plots of the accuracy of the means of 1 to {sizes} judges, a panel an aspect and level."
        ),
        "transform": hundred(*numbers),
        "facet": {
            "row": {
                "field": "level",
                "type": "nominal",
                "sort": levels,
                "title": None,
                "header": {"labelExpr": "datum.value + ' level'"},
            },
            "column": {
                "field": "aspect",
                "type": "nominal",
                "sort": aspects,
                "title": None,
                "header": {"labelLimit": panel},
            },
        },
        "spacing": {"row": 16, "column": 16},
        "spec": {
            "width": panel,
            "height": 130,
            "layer": [
                layer({"type": "rule", "strokeWidth": 1.2}, "minimum", "maximum"),
                layer({"type": "bar", "width": width, "color": BLUE, "opacity": 0.55}, "q1", "q3"),
                layer({"type": "tick", "width": width, "thickness": 2, "orient": "horizontal"}, "median"),
                layer(
                    {"type": "point", "filled": True, "size": 28, "color": VERMILION, "opacity": 1}, "mean"
                ),
            ],
        },
    }
    return Figure(sheet, chart, caption_width=len(aspects) * (panel + 16) + 60)
