"""Small histograms, one an evaluator, with the truth as an outline."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from metaeval.reports.figures.figure import Figure, first_choices
from metaeval.reports.figures.style import BLUE, VERMILION, shortened

if TYPE_CHECKING:
    from collections.abc import Mapping

    from metaeval.engine.sheet import Sheet

_MOST_WIDE = 24
_GAP = 40
_SHORT = "datum.value !== 0 && abs(datum.value) < 0.001 ? format(datum.value, '.0e') : datum.label"


def distributions(sheet: Sheet, first: Mapping[str, str]) -> Figure:
    """Draw what `metaeval.analysis.agreement.distributions.distributions` returned."""
    n = sheet.frame["evaluator"].nunique()
    wide = n <= _MOST_WIDE
    columns, panel = (3, 230) if wide else (6, 120)
    bins: dict[str, Any] = {
        "x": {
            "field": "low",
            "type": "quantitative",
            "bin": {"binned": True},
            "title": None,
            "axis": {
                "grid": False,
                "tickCount": 5 if wide else 3,
                "labelOverlap": "greedy",
                "labelSeparation": 5,
                "labelExpr": _SHORT,
            },
            "scale": {"zero": False, "nice": False},
        },
        "x2": {"field": "high"},
    }
    up = {"type": "quantitative", "title": "share", "axis": {"format": ".0%", "tickCount": 3}}
    chart = {
        "description": f"Histograms of the scores of {n - 1} evaluators and of the truth, one panel each.",
        "facet": {
            "field": "evaluator",
            "type": "nominal",
            "title": None,
            "sort": {"field": "place", "op": "min"},
            "header": {
                "labelLimit": panel + _GAP - 12,
                "labelFontSize": 11,
                **({"labelExpr": shortened(44)} if wide else {}),
                "labelAnchor": "start",
                "labelPadding": 4,
            },
        },
        "columns": columns,
        "spacing": {"row": 14, "column": 14},
        "spec": {
            "width": panel,
            "height": 70,
            "layer": [
                {
                    "mark": {"type": "bar", "opacity": 0.7, "binSpacing": 0},
                    "encoding": {
                        **bins,
                        "y": {"field": "share", **up},
                        "color": {
                            "condition": {"test": "datum.place === 0", "value": VERMILION},
                            "value": BLUE,
                        },
                        "tooltip": [
                            {"field": "evaluator", "type": "nominal", "title": "evaluator"},
                            {"field": "low", "type": "quantitative", "title": "from", "format": ".4~g"},
                            {"field": "high", "type": "quantitative", "title": "to", "format": ".4~g"},
                            {"field": "share", "type": "quantitative", "title": "scores", "format": ".1%"},
                            {
                                "field": "truth_share",
                                "type": "quantitative",
                                "title": "truth",
                                "format": ".1%",
                            },
                        ],
                    },
                },
                {
                    "transform": [{"filter": "isValid(datum.truth_share)"}],
                    "mark": {
                        "type": "bar",
                        "fillOpacity": 0,
                        "stroke": VERMILION,
                        "strokeWidth": 1.6,
                        "binSpacing": 0,
                    },
                    "encoding": {**bins, "y": {"field": "truth_share", **up}},
                },
            ],
        },
        "resolve": {"scale": {"x": "independent"}},
    }
    return Figure(
        sheet, chart, first_choices(sheet.frame, first, ("aspect",)), caption_width=columns * (panel + _GAP)
    )
