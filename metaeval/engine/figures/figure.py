"""A figure: a typed table, a chart that draws it, and what can be chosen of it."""

from __future__ import annotations

import math
import textwrap
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from metaeval.base.errors import MetaevalError, nearest
from metaeval.engine.correlation_board import COEFFICIENT_NAMES
from metaeval.engine.figures.style import CORRELATION, LIGHT, SCHEMA

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    import pandas as pd

    from metaeval.engine.sheet import Sheet

DATA = "table"
"""The name under which a chart reads its rows."""
WIDTH = 560
"""Width of a chart in a file, in pixels, its axes not counted."""

_DIGITS = 5
_CHARACTER = 5.6  # mean width of a character of the caption, in pixels


@dataclass(frozen=True, slots=True, eq=False)
class Figure:
    """A chart of a sheet; the sheet also feeds the table and the CSV of the same figure."""

    sheet: Sheet
    """Name, title, every digit, notes."""
    chart: Mapping[str, Any]
    """Vega-Lite without data: it reads those named ``table``. Colours of text and axes are left to the
    configuration of the page or file."""
    choices: Mapping[str, str] = field(default_factory=dict)
    """Column of the frame → value that is shown first. One value at a time is shown."""
    caption_width: int = WIDTH + 200
    """About how wide a file comes out, in pixels: where its caption breaks."""

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
        found = dict(self.choices)
        for column, value in (wanted or {}).items():
            if column not in found:
                have = ", ".join(found) or "it has none"
                raise MetaevalError(
                    f"figure {self.sheet.name!r} has no choice of {column!r}{nearest(column, found)} ({have})"
                )
            known = self.values_of(column)
            if value not in known:
                hint = nearest(value, known)
                raise MetaevalError(
                    f"figure {self.sheet.name!r} has no {column} {value!r}{hint} (it has: {', '.join(known)})"
                )
            found[column] = value
        return found

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
        shown = self.chosen(chosen)
        frame = self.sheet.frame
        for column, value in shown.items():
            frame = frame[frame[column].astype(str) == value]
        columns = {str(c): plain(frame[c]) for c in frame.columns}
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        chart = _titled(dict(self.chart), COEFFICIENT_NAMES.get(shown.get("coefficient", ""), CORRELATION))
        if chart.get("width") == "container":
            chart["width"] = width
            chart.pop("autosize", None)  # only of what stands alone
        description = chart.pop("description", self.sheet.title)
        whole = {
            "$schema": SCHEMA,
            "description": description,
            "data": {"name": DATA, "values": rows},
            "config": LIGHT,
        }
        if bare:
            loud = {"title": {"text": self.sheet.simulated.loud, **_CAPTION}} if self.sheet.simulated else {}
            return {**whole, "vconcat": [{**loud, **chart}]}
        # Two charts, one in the other, since each has a single title: the inner one's is the caption.
        return {
            **whole,
            "title": {"text": self.sheet.title, "subtitle": list(self._below_title(shown))},
            "vconcat": [{"title": {"text": list(self._caption()), **_CAPTION}, **chart}],
        }

    def _below_title(self, shown: Mapping[str, str]) -> Iterator[str]:
        if shown:
            yield " · ".join(
                f"{column}: {COEFFICIENT_NAMES.get(value, value) if column == 'coefficient' else value}"
                for column, value in shown.items()
            )
        if self.sheet.simulated:
            yield from self._wrapped(self.sheet.simulated.warning)

    def _caption(self) -> Iterator[str]:
        # One line at least: a title without text would be no title.
        yield from self._wrapped(" ".join(self.sheet.notes)) or [" "]

    def _wrapped(self, text: str) -> list[str]:
        return textwrap.wrap(text, int(self.caption_width / _CHARACTER))


_CAPTION = {"orient": "bottom", "anchor": "start", "fontSize": 11, "fontWeight": "normal", "offset": 12}


def figure_payload(figure: Figure) -> dict[str, Any]:
    """Return a figure as plain JSON values, for a page that draws it and lets its reader choose."""
    sheet = figure.sheet
    titles = {c.name: c.title for c in sheet.columns}
    return {
        "name": sheet.name,
        "title": sheet.title,
        "notes": list(sheet.notes),
        "simulated": sheet.simulated.warning,
        "spec": {**figure.chart, "data": {"name": DATA}},
        "choices": [
            {
                "column": column,
                "title": titles.get(column, column.capitalize()),
                "values": figure.values_of(column),
                "chosen": value,
                # What titles of the chart say until a value is chosen → what they say of each value.
                "says": CORRELATION if column == "coefficient" else "",
                "words": [COEFFICIENT_NAMES.get(v, v) for v in figure.values_of(column)],
            }
            for column, value in figure.choices.items()
        ],
        "columns": [{"name": c.name, "title": c.title, "form": c.form} for c in sheet.columns],
        "rows": {str(c): plain(sheet.frame[c]) for c in sheet.frame.columns},
    }


def plain(column: pd.Series[Any]) -> list[Any]:
    """Return JSON values of a column: None for what is not there, five digits of every float."""
    return [_plain(value) for value in column.tolist()]


def _plain(value: Any) -> Any:  # noqa: ANN401 - whatever the cell of a frame holds
    if isinstance(value, float):
        return float(f"{value:.{_DIGITS}g}") if math.isfinite(value) else None
    return value


def first_choices(frame: pd.DataFrame, wanted: Mapping[str, str], columns: Iterable[str]) -> dict[str, str]:
    """Return of each column the wanted value, or the first one of the frame where it has not that."""
    found = {}
    for column in columns:
        values = [str(v) for v in frame[column].unique()]
        found[column] = wanted[column] if wanted.get(column) in values else values[0]
    return found


def _titled(part: Any, coefficient: str) -> Any:  # noqa: ANN401 - any part of a chart
    """Copy a part of a chart, with a coefficient's name in its titles."""
    if isinstance(part, dict):
        return {
            k: v.replace(CORRELATION, coefficient)
            if k == "title" and isinstance(v, str)
            else _titled(v, coefficient)
            for k, v in part.items()
        }
    return [_titled(p, coefficient) for p in part] if isinstance(part, list) else part
