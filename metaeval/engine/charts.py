"""Charts by Altair: what those of all kinds have in common.

A figure is a `Sheet` and a chart of its columns. A chart starts with `ROWS`, the rows of the sheet, and
the parts of Altair do the rest::

    x = alt.X("mean:Q", title="mean rating")
    dots = ROWS.mark_point(filled=True).encode(x=x, y="evaluator:N", tooltip=tooltip(mean=("mean", ".2f")))
    return Figure(sheet, layered("The mean rating of each evaluator.", dots))

Colours and shapes are those of `style`. The page or the file styles text, axes and legends, so a chart has no
configuration. Import this module only where a chart is made: Altair takes 0.2 s.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import pandas as pd

from metaeval.base.records import Kind
from metaeval.base.simulation import MARK
from metaeval.engine.figure import (
    BLUE,
    COLOURS,
    DATA,
    GREEN,
    GREY,
    INK,
    ORANGE,
    PURPLE,
    SKY,
    VERMILION,
)

ROWS = alt.Chart(alt.NamedData(DATA))
"""A chart of the rows of the sheet."""

DASHED: dict[str, Any] = {"color": INK, "strokeDash": [4, 3]}
"""The look of a line that says what chance or people reach; it lies over the others."""
_CHOSEN = 5

_OF_KIND = {
    Kind.BASELINE: (GREY, "cross"),
    Kind.REFERENCE: (GREEN, "square"),
    Kind.RECORDED: (SKY, "triangle-right"),
    Kind.FUNCTION: (ORANGE, "triangle-down"),
    Kind.ANNOTATOR: (VERMILION, "circle"),
    Kind.JUDGE: (BLUE, "triangle-up"),
    Kind.ENSEMBLE: (PURPLE, "diamond"),
}


def layered(
    description: str, *layers: alt.Chart, height: float | alt.Step = 320, hundred: Sequence[str] = ()
) -> alt.LayerChart | alt.FacetChart:
    """Return a chart of layers, the hindmost first, that is as wide as what holds it.

    The layers can show the columns ``hundred`` × 100, as ``<column>_100``.
    """
    chart = alt.layer(*layers).properties(
        description=description,
        height=height,
        width="container",
        autosize=alt.AutoSizeParams(type="fit-x", contains="padding"),
    )
    return chart.transform_calculate(**times_hundred(*hundred))


def times_hundred(*columns: str) -> dict[str, str]:
    """Return calculations of 100 times each column, as ``<column>_100``; a missing value stays missing."""
    return {f"{c}_100": f"isValid(datum.{c}) ? 100 * datum.{c} : null" for c in columns}


def tooltip(**columns: str | tuple[str, str]) -> list[alt.Tooltip]:
    """Return lines of a tooltip: the title of each column of names, title and format of each of numbers."""
    return [
        alt.Tooltip(f"{column}:N", title=look)
        if isinstance(look, str)
        else alt.Tooltip(f"{column}:Q", title=look[0], format=look[1])
        for column, look in columns.items()
    ]


def interval_tooltip(**columns: str | tuple[str, str]) -> list[alt.Tooltip]:
    """Return lines of a tooltip: some columns, then an estimate × 100 and its interval."""
    ends = {"estimate_100": "estimate × 100", "ci_low_100": "from", "ci_high_100": "to"}
    return tooltip(**columns, **{column: (title, ".2f") for column, title in ends.items()})


def whiskers(x: alt.X, y: alt.Y, ends_of_x: tuple[str, str], ends_of_y: tuple[str, str]) -> list[alt.Chart]:
    """Return layers of grey intervals, up and across, between the columns of the lower and the upper ends."""
    grey = ROWS.mark_rule(color=GREY, opacity=0.5)
    up = grey.encode(x=x, y=f"{ends_of_y[0]}:Q", y2=ends_of_y[1])
    return [up, grey.encode(y=y, x=f"{ends_of_x[0]}:Q", x2=ends_of_x[1])]


def curves(  # noqa: PLR0917 - a chart's description, rows, axes and tooltip
    description: str,
    frame: pd.DataFrame,
    x: alt.X,
    y: alt.Y,
    ends: tuple[str, str],
    lines: list[alt.Tooltip],
    *,
    over: Sequence[alt.Chart] = (),
    joined: bool = True,
    lower_is_better: bool = False,
) -> alt.LayerChart | alt.FacetChart:
    """Return a chart of grey lines with their names beside them, ordered as the lines end; some have colours.

    At first these are the best by their medians. A click on a line or a name gives or takes its colour, which
    stays the same whatever else has one.
    ``ends`` are the columns of intervals, drawn for lines with a colour; ``over`` lies over the lines. Unless
    points are ``joined``, an evaluator has one.
    """
    across, up = (str(channel["shorthand"]).partition(":")[0] for channel in (x, y))
    middles = frame.groupby("evaluator", observed=True)[up].median().sort_values(ascending=lower_is_better)
    first = [{"evaluator": str(name)} for name in middles.index[:_CHOSEN]]
    fields: dict[str, Any] = {"fields": ["evaluator"], "empty": False}
    chosen = alt.selection_point("chosen", value=first, on="click", toggle="true", clear=False, **fields)
    pointed = alt.selection_point("pointed", on="pointermove", clear="pointerleave", **fields)
    rows = ROWS.transform_filter(f"isValid(datum.{up})")
    names = (
        rows.transform_window(
            last="row_number()", groupby=["evaluator"], sort=[alt.SortField(across, "descending")]
        )
        .transform_filter("datum.last == 1")
        .transform_window(place="row_number()", sort=[alt.SortField(up, "descending")])
        .transform_joinaggregate(names="count()")
    )
    # A number: in a file, where the chart stands in another, no signal has this name.
    height = max(320, 16 * len(middles))
    slot = alt.value({"expr": f"{height} * (datum.place - 0.5) / datum.names"})

    colour = alt.Color("evaluator:N", scale=scale_of([*map(str, middles.index)], COLOURS), legend=None)

    def coloured(chart: alt.Chart) -> alt.Chart:
        return chart.transform_filter(chosen).encode(color=colour)

    def line(chart: alt.Chart, **look: Any) -> alt.Chart:  # noqa: ANN401 - of Altair's marks
        mark: alt.Chart = (
            chart.mark_line(**look) if joined else chart.mark_point(filled=True, size=80, **look)
        )
        return mark.encode(x=x, y=y, detail="evaluator:N")

    def name(chart: alt.Chart, **look: Any) -> alt.Chart:  # noqa: ANN401 - of Altair's marks
        text: alt.Chart = chart.mark_text(align="left", style="name", cursor="pointer", **look)
        beside = alt.value({"expr": "width + 14"})
        # A layer that does not hold the choice takes clicks only with a tooltip.
        return text.encode(x=beside, y=slot, text="evaluator:N", tooltip="evaluator:N")

    # It starts at the edge: from a line that ends early it would cross the others.
    edge, end = (alt.value({"expr": f"width + {past}"}) for past in (2, 11))
    lead = names.mark_rule(opacity=0.5).encode(x=edge, y=y, x2=end, y2=slot)
    ink = alt.value(INK)
    return layered(
        description,
        line(rows, strokeWidth=1.2, opacity=0.7, color=GREY),
        line(rows, strokeWidth=14, opacity=0, cursor="pointer")
        .properties(name="lines")
        .add_params(chosen, pointed),
        coloured(rows.mark_rule(opacity=0.5).encode(x=x, y=f"{ends[0]}:Q", y2=ends[1])),
        coloured(lead),
        coloured(line(rows, strokeWidth=2.5, opacity=1)),
        coloured(rows.mark_point(filled=True, size=60, opacity=1).encode(x=x, y=y, tooltip=lines)),
        *over,
        name(names.transform_filter(~chosen), color=GREY),
        coloured(name(names, fontWeight="bold")),
        line(rows.transform_filter(pointed & ~chosen), strokeWidth=2.5, opacity=1).encode(color=ink),
        name(names.transform_filter(pointed & ~chosen), fontWeight="bold").encode(color=ink),
        height=height,
    )


def shaded(column: str) -> alt.Opacity:
    """Return the channel of cells of a heat map: the ground shows where a column is 0, the colour at 1."""
    return alt.Opacity(f"{column}:Q", scale=alt.Scale(domain=[0, 1], range=[0, 1]), legend=None)


def on_shade(shade: str) -> Any:  # noqa: ANN401 - a condition of Altair
    """Return the colour of text on cells that are shaded by a value from 0 to 1."""
    return alt.condition(f"{shade} > 0.8", alt.value("#FFFFFF"), alt.value(INK))


def by_kind(kinds: Sequence[str]) -> dict[str, Any]:
    """Return channels that show an evaluator's kind by colour and by shape, with one legend."""
    present = [k for k in _OF_KIND if str(k) in set(kinds)]
    looks = zip(*(_OF_KIND[k] for k in present), strict=True)
    colours, shapes = (scale_of([str(k) for k in present], look) for look in looks)
    legend = {"orient": "top", "columns": 3}
    return {
        "color": alt.Color("kind:N", title=None, scale=colours, legend=legend),
        "shape": alt.Shape("kind:N", title=None, scale=shapes),
    }


def scale_of(values: Sequence[str], marks: Sequence[str]) -> alt.Scale:
    """Return a scale that gives each value a colour or a shape; they come again where they run out."""
    return alt.Scale(domain=list(values), range=[marks[i % len(marks)] for i in range(len(values))])


def evaluator_axis(n: int) -> alt.Axis:
    """Return the axis of ``n`` evaluators, each with its name."""
    size = 11 if n <= 45 else 10
    return alt.Axis(title=None, labelFontSize=size, labelOverlap=False, labelExpr=SHORTENED, ticks=False)


_END = len(MARK) + 2
_MOST = 44
SHORTENED = (
    f"length(datum.label) > {_MOST} ? slice(datum.label, 0, {_MOST - _END - 1}) + '…' "
    f"+ slice(datum.label, -{_END}) : datum.label"
)
"""The beginning and the end of a label that is long. The end says whether an evaluator is simulated."""

OF_LEVEL = "datum.value + ' level'"
"""The label of a row or column of panels for a level."""
