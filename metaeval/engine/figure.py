"""A figure: a typed table, a chart that draws it, what can be chosen of it, and the look of all charts."""

from __future__ import annotations

import json
import math
import textwrap
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from metaeval.base.errors import one_of
from metaeval.engine.correlation import COEFFICIENT_NAMES

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

    from metaeval.engine.sheet import Sheet


SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"

DATA = "table"
"""The name under which a chart reads its rows."""
CORRELATION = "correlation"
"""The word in the titles of axes that stands for the coefficient, where one can be chosen."""
HUNDRED = f"{CORRELATION} × 100"

# Okabe and Ito's colours, without yellow and black, which white and dark grounds swallow.
BLUE, ORANGE, GREEN, VERMILION, PURPLE, SKY = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#D55E00",
    "#CC79A7",
    "#56B4E9",
)
GREY = "#8C8C8C"
INDIGO, BROWN, VIOLET, MAGENTA, BLACK = "#332288", "#6B2C00", "#7766FF", "#990066", "#1A1A1A"
PALETTE = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, GREY, INDIGO, BROWN, VIOLET, MAGENTA, BLACK)
"""Twelve; the further five were chosen to differ from the others for colour-blind people, too."""
COLOURS = tuple(c for c in PALETTE if c != GREY)
"""Of lines that lie on grey ones."""
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right")

INK, _FAINT, _LINES = "#222222", "#555555", "#E3E3E3"

LIGHT: dict[str, Any] = {
    "background": "#FFFFFF",
    # Charts are laid out in the first of these; the others are as wide, and known elsewhere.
    "font": "Liberation Sans, Arial, Helvetica, sans-serif",
    "view": {"stroke": None},
    "title": {
        "anchor": "start",
        "frame": "group",
        "fontSize": 15,
        "color": INK,
        "subtitleColor": _FAINT,
        "subtitleFontSize": 12,
        "subtitlePadding": 5,
        "offset": 14,
    },
    "axis": {
        "labelColor": INK,
        "titleColor": INK,
        "titleFontWeight": "normal",
        "titleFontSize": 12,
        "gridColor": _LINES,
        "domainColor": _FAINT,
        "tickColor": _FAINT,
        "labelLimit": 320,
    },
    "axisXQuantitative": {"tickCount": 8, "labelFlush": False},  # else labels lie on each other
    "legend": {
        "labelColor": INK,
        "titleColor": INK,
        "titleFontWeight": "normal",
        "labelLimit": 260,
        "symbolSize": 80,
        "symbolOpacity": 1,  # where lines behind the marks are faint, too
    },
    "header": {"labelColor": INK, "titleColor": INK, "labelFontSize": 11, "titleFontWeight": "normal"},
    "text": {"color": INK},
    "style": {"name": {"fontSize": 11, "limit": 200}},  # of what stands beside a line
    "rule": {"color": _FAINT},
    "tick": {"color": _FAINT},
}
"""Configuration of charts on white; a page on a dark ground gives them another."""


WIDTH = 560
"""Width of a chart in a file, in pixels, its axes not counted."""

_DIGITS = 5
_CHARACTER = 5.6  # mean width of a character of the caption, in pixels
_LARGE = 8.4  # and of the title
_CAPTION = {"orient": "bottom", "anchor": "start", "fontSize": 11, "fontWeight": "normal", "offset": 12}


@dataclass(frozen=True, slots=True)
class Panels:
    """A chart, drawn once for each value of a column, below each other."""

    chart: Any
    """As Vega-Lite."""
    column: str

    def to_dict(self, *, validate: bool = False) -> dict[str, Any]:
        """Return the whole as Vega-Lite; each panel has the usual width, and an axis of its own."""
        del validate
        # What stands beside a panel is placed by its width, which no signal has within panels.
        text = json.dumps(self.chart.to_dict(validate=False)).replace('"width + ', f'"{WIDTH} + ')
        own = {
            k: v for k, v in json.loads(text).items() if k not in {"$schema", "config", "data", "autosize"}
        }
        outer = {k: own.pop(k) for k in ("description",) if k in own}
        for param in own.pop("params", []):  # of panels, what is chosen stands in the layer that holds it
            views = param.pop("views", [])
            for layer in own.get("layer", []):
                if layer.get("name") in views:
                    layer.setdefault("params", []).append(param)
        for step in (step for layer in own.get("layer", []) for step in layer.get("transform", [])):
            if {"window", "joinaggregate"} & step.keys():
                step.setdefault("groupby", [])  # Vega-Lite adds the column of the panels to it
        header = {"title": None, "labelOrient": "top", "labelAnchor": "start", "labelFontWeight": "bold"}
        row = {"field": self.column, "type": "nominal", "sort": None, "header": header}
        return {
            **outer,
            "facet": {"row": row},
            "spec": {**own, "width": WIDTH},
            "resolve": {"scale": {"y": "independent", "yOffset": "independent"}},
        }


@dataclass(frozen=True, slots=True, eq=False)
class Figure:
    """A chart of a sheet; the sheet also feeds the table and the CSV of the same figure."""

    sheet: Sheet
    """Name, title, every digit, notes."""
    chart: alt.TopLevelMixin | Panels
    """The chart, of `metaeval.engine.charts.ROWS`."""
    choices: Mapping[str, str] = field(default_factory=dict)
    """Column of the frame → value that is shown first. One value at a time is shown."""
    caption_width: int = WIDTH + 200
    """About how wide a file comes out, in pixels: where its caption breaks."""
    finding: Callable[[pd.DataFrame], str] | None = None
    """Rows of the chosen values → what they show, in a short sentence without full stop, or nothing."""
    names: Mapping[str, str] = field(default_factory=dict)
    """What the column ``evaluator`` prints → the evaluator's name."""
    units: Mapping[str, str] = field(default_factory=dict)
    """Columns whose values name units → the key column that has them."""

    @property
    def vega_lite(self) -> dict[str, Any]:
        """The chart as Vega-Lite, without data and configuration."""
        chart = self.chart.to_dict(validate=False)
        return {k: v for k, v in chart.items() if k not in ("$schema", "config", "data")}

    def values_of(self, column: str) -> list[str]:
        """Return what can be chosen of a column, in the order of the frame."""
        return [str(value) for value in self.sheet.frame[column].unique()]

    def chosen(self, wanted: Mapping[str, str] | None = None) -> dict[str, str]:
        """Return the chosen value of every column of ``choices``, else the one shown first.

        Raises
        ------
        MetaevalError
            If a column or a value is not to be chosen from.
        """
        for column, value in (wanted or {}).items():
            one_of(column, list(self.choices), f"figure {self.sheet.name!r} has no choice of", "it has")
            one_of(value, self.values_of(column), f"figure {self.sheet.name!r} has no {column}", "it has")
        return {**self.choices, **(wanted or {})}

    def rows(self, chosen: Mapping[str, str]) -> pd.DataFrame:
        """Return the rows of the chosen values."""
        frame = self.sheet.frame
        for column, value in chosen.items():
            frame = frame[frame[column].astype(str) == value]
        return frame

    def title(self, chosen: Mapping[str, str]) -> str:
        """Return what the chosen rows show; what the figure is about where nothing is said."""
        return self._said(self.rows(chosen))

    def findings(self) -> dict[str, str]:
        """Return the values of ``choices``, joined by ``|`` → the title of their rows, for a page to choose.

        Empty if the title is always that of the sheet.
        """
        if not self.finding:
            return {}
        frame, columns = self.sheet.frame, list(self.choices)
        if not columns:
            return {"": self._said(frame)}
        rows = frame.groupby([frame[column].astype(str) for column in columns], sort=False)
        return {"|".join(map(str, values)): self._said(those) for values, those in rows}

    def _said(self, rows: pd.DataFrame) -> str:
        return (self.finding(rows) if self.finding else "") or self.sheet.title

    def spec(
        self, chosen: Mapping[str, str] | None = None, *, width: int = WIDTH, bare: bool = False
    ) -> dict[str, Any]:
        """Return the chart with the rows of the chosen values, a title and a caption, in light colours.

        Parameters
        ----------
        chosen
            Column → value, as in ``choices``; those left out are as there.
        width
            Of a chart that else fills its container, in pixels.
        bare
            Leave title and caption out, as a paper has its own. That data or judges are simulated is said
            all the same, in two or three words.

        Raises
        ------
        MetaevalError
            If a column or a value is not to be chosen from.
        """
        sheet, shown = self.sheet, self.chosen(chosen)
        frame = self.rows(shown)
        columns = {str(c): plain(frame[c]) for c in frame.columns}
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        # Titles say which coefficient is shown.
        title, coefficient = f'"title": "{CORRELATION}', COEFFICIENT_NAMES.get(shown.get("coefficient", ""))
        text = json.dumps(self.vega_lite)
        chart = json.loads(text.replace(title, f'"title": "{coefficient}') if coefficient else text)
        if chart.get("width") == "container":
            chart["width"] = width
            chart.pop("autosize", None)  # only of what stands alone
        description = chart.pop("description", sheet.title)
        params = chart.pop("params", [])  # what is chosen stands in the outermost chart
        data = {"name": DATA, "values": rows}
        whole = {"$schema": SCHEMA, "description": description, "data": data, "config": LIGHT}
        whole |= {"params": params} if params else {}
        if bare:
            loud = {"title": {"text": sheet.simulated.loud, **_CAPTION}} if sheet.simulated else {}
            return {**whole, "vconcat": [{**loud, **chart}]}
        subtitle = self._wrapped(sheet.simulated.warning) if sheet.simulated else []
        if shown:
            values = {c: COEFFICIENT_NAMES.get(v, v) if c == "coefficient" else v for c, v in shown.items()}
            subtitle.insert(0, " · ".join(f"{column}: {value}" for column, value in values.items()))
        title = self.title(shown)
        subtitle[:0] = [sheet.title] if title != sheet.title else []
        # Two charts, one in the other, since each has a single title: the inner one's is the caption, which
        # has one line at least, since a title without text would be no title.
        caption = self._wrapped(" ".join(sheet.notes)) or [" "]
        return {
            **whole,
            "title": {"text": self._wrapped(title, _LARGE), "subtitle": subtitle},
            "vconcat": [{"title": {"text": caption, **_CAPTION}, **chart}],
        }

    def _wrapped(self, text: str, character: float = _CHARACTER) -> list[str]:
        return textwrap.wrap(text, int(self.caption_width / character))


def figure_payload(figure: Figure) -> dict[str, Any]:
    """Return a figure as plain JSON values, for a page that draws it and lets its reader choose."""
    sheet = figure.sheet
    titles = {c.name: c.title for c in sheet.columns}
    choices = []
    for column, value in figure.choices.items():
        values = figure.values_of(column)
        choices.append(
            {
                "column": column,
                "title": titles.get(column, column.capitalize()),
                "values": values,
                "chosen": value,
                # What titles of the chart say until a value is chosen → what they say of each value.
                "says": CORRELATION if column == "coefficient" else "",
                "words": [COEFFICIENT_NAMES.get(v, v) for v in values],
            }
        )
    return {
        "name": sheet.name,
        "title": sheet.title,
        "findings": figure.findings(),
        "names": dict(figure.names),
        "units": dict(figure.units),
        "notes": list(sheet.notes),
        "simulated": sheet.simulated.loud,
        "spec": {**figure.vega_lite, "data": {"name": DATA}},
        "choices": choices,
        "columns": [{"name": c.name, "title": c.title, "form": c.form} for c in sheet.columns],
        "rows": {str(c): plain(sheet.frame[c]) for c in sheet.frame.columns},
    }


def largest(rows: pd.DataFrame, column: str) -> dict[str, Any]:
    """Return the first row of those with the largest value of a column."""
    return {str(k): v for k, v in rows.nlargest(1, column).iloc[0].items()}


def plain(column: pd.Series[Any]) -> list[Any]:
    """Return JSON values of a column: None for what is not there, five digits of every float."""
    return [_plain(value) if isinstance(value, float) else value for value in column.tolist()]


def _plain(value: float) -> float | None:
    return float(f"{value:.{_DIGITS}g}") if math.isfinite(value) else None


def first_choices(frame: pd.DataFrame, wanted: Mapping[str, str], columns: Iterable[str]) -> dict[str, str]:
    """Return of each column the wanted value, or the first one of the frame where it has not that."""
    choices = {}
    for column in columns:
        values = [str(v) for v in frame[column].unique()]
        choices[column] = wanted[column] if wanted.get(column) in values else values[0]
    return choices
