"""Small histograms, one per evaluator, with the truth as an outline."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metaeval.engine.figures.figure import Figure, first_choices
from metaeval.engine.figures.style import BLUE, VERMILION, layer, nominal, number, shortened

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
    axis = {
        "grid": False,
        "tickCount": 5 if wide else 3,
        "labelOverlap": "greedy",
        "labelSeparation": 5,
        "labelExpr": _SHORT,
    }
    low = number("low", bin={"binned": True}, title=None, axis=axis, scale={"zero": False, "nice": False})
    bins = {"x": low, "x2": {"field": "high"}}
    up = {"title": "share", "axis": {"format": ".0%", "tickCount": 3}}
    bar = {
        **bins,
        "y": number("share", **up),
        "color": {"condition": {"test": "datum.place === 0", "value": VERMILION}, "value": BLUE},
        "tooltip": [
            nominal("evaluator", title="evaluator"),
            number("low", title="from", format=".4~g"),
            number("high", title="to", format=".4~g"),
            number("share", title="scores", format=".1%"),
            number("truth_share", title="truth", format=".1%"),
        ],
    }
    outline = {"fillOpacity": 0, "stroke": VERMILION, "strokeWidth": 1.6, "binSpacing": 0}
    truth = {**bins, "y": number("truth_share", **up)}
    header = {
        "labelLimit": panel + _GAP - 12,
        "labelFontSize": 11,
        **({"labelExpr": shortened(44)} if wide else {}),
        "labelAnchor": "start",
        "labelPadding": 4,
    }
    chart = {
        "description": f"Histograms of the scores of {n - 1} evaluators and of the truth, one panel each.",
        "facet": nominal("evaluator", title=None, sort={"field": "place", "op": "min"}, header=header),
        "columns": columns,
        "spacing": {"row": 14, "column": 14},
        "spec": {
            "width": panel,
            "height": 70,
            "layer": [
                layer("bar", bar, opacity=0.7, binSpacing=0),
                {
                    "transform": [{"filter": "isValid(datum.truth_share)"}],
                    **layer("bar", truth, **outline),
                },
            ],
        },
        "resolve": {"scale": {"x": "independent"}},
    }
    return Figure(
        sheet, chart, first_choices(sheet.frame, first, ("aspect",)), caption_width=columns * (panel + _GAP)
    )
