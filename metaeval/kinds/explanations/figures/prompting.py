"""Zero-shot, one-shot and personalized judges side by side: one row per model, one column per level."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from metaeval.engine.figures.figure import Figure, first_choices
from metaeval.engine.figures.style import (
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

_ORDER = ("zero-shot", "one-shot", "shuffled", "personalized")


def prompting(sheet: Sheet, first: Mapping[str, str]) -> Figure:
    """Draw what `metaeval.kinds.explanations.prompting.prompting` returned."""
    frame = sheet.frame
    given = frame["way"].unique().tolist()
    known = [w for o in _ORDER for w in given if w == o or w.startswith(f"{o},")]
    ways = [*known, *(w for w in given if w not in known)]
    levels, aspects = frame["level"].unique().tolist(), frame["aspect"].unique().tolist()
    shared = {
        "x": nominal("aspect", sort=aspects, title=None, axis={"labelAngle": -40}),
        "xOffset": nominal("way", sort=ways),
        "color": nominal(
            "way", title=None, sort=ways, scale=scale_of(ways, PALETTE), legend={"orient": "top"}
        ),
    }
    up: dict[str, Any] = {"title": HUNDRED, "axis": {"grid": True}}
    line = {**shared, "y": number("ci_low_100", **up), "y2": {"field": "ci_high_100"}}
    dot = {
        **shared,
        "y": number("estimate_100", **up),
        "shape": nominal("way", title=None, sort=ways, scale=scale_of(ways, SHAPES)),
        "tooltip": with_interval(model="model and prompt", way="asked", aspect="aspect"),
    }
    zero = {"y": {"datum": 0, "type": "quantitative", **up}}
    panel = max(150, 14 * len(ways) * len(aspects))
    chart = {
        "description": (
            f"Correlations of {frame['model'].nunique()} models and prompts with the truth, a row each and a "
            f"column a level, asked in {len(ways)} ways, which stand side by side for each aspect."
        ),
        "transform": hundred("estimate", "ci_low", "ci_high"),
        "facet": {
            "row": nominal(
                "model",
                sort=frame["model"].unique().tolist(),
                title=None,
                header={
                    "labelOrient": "top",
                    "labelAnchor": "start",
                    "labelLimit": 3 * panel,
                    "labelPadding": 6,
                },
            ),
            "column": nominal(
                "level",
                sort=levels,
                title=None,
                header={"labelAnchor": "start", "labelExpr": "datum.value + ' level'", "labelPadding": 2},
            ),
        },
        "spec": {
            "width": panel,
            "height": 150,
            "layer": [
                layer("rule", zero, strokeWidth=1),
                layer("rule", line, strokeWidth=1.5, opacity=0.75),
                layer("point", dot, filled=True, size=55, opacity=1),
            ],
        },
    }
    return Figure(
        sheet,
        chart,
        first_choices(frame, first, ("coefficient",)),
        caption_width=len(levels) * (panel + 20) + 60,
    )
