"""A forest plot of the leaderboard: a dot and an interval for each evaluator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from metaeval.engine.figures.figure import Figure, first_choices
from metaeval.engine.figures.style import (
    FILLING,
    HUNDRED,
    by_kind,
    hundred,
    layer,
    line_height,
    nominal,
    row_axis,
    with_interval,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from metaeval.engine.sheet import Sheet


def ranking(sheet: Sheet, first: Mapping[str, str]) -> Figure:
    """Draw what `metaeval.analysis.agreement.forest.forest` returned."""
    frame = sheet.frame
    n = frame["evaluator"].nunique()
    best_first = {"field": "estimate", "op": "max", "order": "descending"}
    rows = nominal("evaluator", sort=best_first, axis=row_axis(n))
    across: dict[str, Any] = {
        "type": "quantitative",
        "title": f"{HUNDRED} (higher is better)",
        "axis": {"tickCount": 8},
    }
    kinds = by_kind(frame["kind"].unique().tolist())
    line = {
        "y": rows,
        "x": {"field": "ci_low_100", **across},
        "x2": {"field": "ci_high_100"},
        "color": kinds["color"],
    }
    dot = {
        "y": rows,
        "x": {"field": "estimate_100", **across},
        **kinds,
        "tooltip": with_interval(evaluator="evaluator", kind="kind"),
    }
    layers = [
        layer("rule", {"x": {"datum": 0, **across}}, strokeWidth=1),
        layer("rule", line, strokeWidth=2, opacity=0.75),
        layer("point", dot, filled=True, size=70, opacity=1),
    ]
    if frame["human"].notna().any():
        # The same number in all rows: any of them will do.
        people = {"x": {"aggregate": "max", "field": "human_100", **across}}
        layers.insert(1, layer("rule", people, strokeWidth=1.5, strokeDash=[6, 4]))
    chart = {
        "description": (
            f"Forest plot of {n} evaluators, the best on top: a dot for the correlation with the truth, a "
            "line for its interval, colour and shape for the kind."
        ),
        "transform": hundred("estimate", "ci_low", "ci_high", "human"),
        **FILLING,
        "height": n * line_height(n),
        "layer": layers,
    }
    return Figure(sheet, chart, first_choices(frame, first, ("aspect", "level", "coefficient")))
