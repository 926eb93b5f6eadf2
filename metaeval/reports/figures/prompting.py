"""Zero-shot, one-shot and personalized judges side by side: a row a model, a column a level."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from metaeval.reports.figures.figure import Figure, first_choices
from metaeval.reports.figures.style import HUNDRED, PALETTE, SHAPES, hundred, rounded, scale_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from metaeval.engine.sheet import Sheet

_ORDER = ("zero-shot", "one-shot", "shuffled", "personalized")


def prompting(sheet: Sheet, first: Mapping[str, str]) -> Figure:
    """Draw what `metaeval.kinds.explanations.prompting.prompting` returned."""
    frame = sheet.frame
    given = frame["way"].unique().tolist()
    known = [w for o in _ORDER for w in given if w == o or w.startswith(f"{o},")]
    ways = [*known, *(w for w in given if w not in known)]
    levels, aspects = frame["level"].unique().tolist(), frame["aspect"].unique().tolist()
    shared: dict[str, Any] = {
        "x": {
            "field": "aspect",
            "type": "nominal",
            "sort": aspects,
            "title": None,
            "axis": {"labelAngle": -40},
        },
        "xOffset": {"field": "way", "type": "nominal", "sort": ways},
        "color": {
            "field": "way",
            "type": "nominal",
            "title": None,
            "sort": ways,
            "scale": scale_of(ways, PALETTE),
            "legend": {"orient": "top"},
        },
    }
    up = {"type": "quantitative", "title": HUNDRED, "axis": {"grid": True}}
    panel = max(150, 14 * len(ways) * len(aspects))
    chart = {
        "description": (
            f"Correlations of {frame['model'].nunique()} models and prompts with the truth, a row each and a "
            f"column a level, asked in {len(ways)} ways, which stand side by side for each aspect."
        ),
        "transform": hundred("estimate", "ci_low", "ci_high"),
        "facet": {
            "row": {
                "field": "model",
                "type": "nominal",
                "sort": frame["model"].unique().tolist(),
                "title": None,
                "header": {
                    "labelOrient": "top",
                    "labelAnchor": "start",
                    "labelLimit": 3 * panel,
                    "labelPadding": 6,
                },
            },
            "column": {
                "field": "level",
                "type": "nominal",
                "sort": levels,
                "title": None,
                "header": {"labelAnchor": "start", "labelExpr": "datum.value + ' level'", "labelPadding": 2},
            },
        },
        "spec": {
            "width": panel,
            "height": 150,
            "layer": [
                {"mark": {"type": "rule", "strokeWidth": 1}, "encoding": {"y": {"datum": 0, **up}}},
                {
                    "mark": {"type": "rule", "strokeWidth": 1.5, "opacity": 0.75},
                    "encoding": {
                        **shared,
                        "y": {"field": "ci_low_100", **up},
                        "y2": {"field": "ci_high_100"},
                    },
                },
                {
                    "mark": {"type": "point", "filled": True, "size": 55, "opacity": 1},
                    "encoding": {
                        **shared,
                        "y": {"field": "estimate_100", **up},
                        "shape": {
                            "field": "way",
                            "type": "nominal",
                            "title": None,
                            "sort": ways,
                            "scale": scale_of(ways, SHAPES),
                        },
                        "tooltip": [
                            {"field": "model", "type": "nominal", "title": "model and prompt"},
                            {"field": "way", "type": "nominal", "title": "asked"},
                            {"field": "aspect", "type": "nominal", "title": "aspect"},
                            rounded("estimate", "estimate × 100"),
                            rounded("ci_low", "from"),
                            rounded("ci_high", "to"),
                        ],
                    },
                },
            ],
        },
    }
    return Figure(
        sheet,
        chart,
        first_choices(frame, first, ("coefficient",)),
        caption_width=len(levels) * (panel + 20) + 60,
    )
