"""The printed cells of a sheet, and columns folded into parts that fit their place: a page or a terminal."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

from metaeval.base.errors import MetaevalError
from metaeval.base.spec import printed_name
from metaeval.engine.sheet import NOTHING, Column, Mark, Sheet, decimals_of, value_text

Measure: TypeAlias = "Callable[[str], float]"
"""What returns how wide a text is."""
Escape: TypeAlias = "Callable[[str], str]"

_BREAKS = re.compile(r"(?<=[\s,/])|(?<=\S\()")
_WORDS = re.compile(r"(?<=\s)")
_NUMERIC = re.compile(r"([\d.,/ %-]*\d[\d.,/ %-]*)?")
_NARROWEST = 16  # digits that a column of names keeps

_POINTS = {"pt": 1.0, "mm": 72.27 / 25.4, "cm": 72.27 / 2.54, "in": 72.27}

fitted: ContextVar[bool] = ContextVar("fitted", default=False)
"""Whether what has no room is left out and named, as on a terminal; else columns go on below."""
coloured: ContextVar[bool] = ContextVar("coloured", default=False)
"""Whether plain text has the colours of a terminal."""


def cells(
    sheet: Sheet,
    text: Escape = str,
    number: Escape = str,
    marks: Mapping[Mark, str] = MappingProxyType({}),
    *,
    even: bool = False,
) -> list[list[str]]:
    """Return the printed cells of a sheet, with their intervals.

    Each value is escaped on its own, by ``text`` or ``number``, as its column holds; ``marks`` are put around
    marked values, which stand for the braces. ``even`` numbers of a column have as many decimals, if they
    would differ by one.
    """
    decimals_in = {c.name: _even_decimals(sheet, c) for c in sheet.columns} if even else {}

    def cell(i: int, row: Mapping[Any, Any], column: Column) -> str:
        low, high = (row.get(name) for name in (column.low, column.high))
        decimals = decimals_in.get(column.name)
        if decimals is None:
            decimals = decimals_of(column.form, row[column.name], low, high)

        def value(name: str) -> str:
            printed = value_text(row[name], column.form, decimals)
            printed = printed_name(printed, sheet.names) if is_text(column) else printed
            escaped = (text if is_text(column) else number)(printed)
            mark = sheet.marks.get((i, name))
            return marks[mark].format(escaped) if mark and marks else escaped

        shown = " / ".join(value(name) for name in (column.name, *column.beside))
        ends = [value_text(end, column.form, decimals) for end in (low, high)]
        if ends == [NOTHING, NOTHING]:
            return shown
        return f"{shown} {number('[')}{number(ends[0])}, {number(ends[1])}{number(']')}"

    return [[cell(i, row, c) for c in sheet.columns] for i, row in enumerate(sheet.frame.to_dict("records"))]


def printed_rows(sheet: Sheet) -> list[dict[str, str]]:
    """Return what is printed of each row, by the names of columns: for sentences."""
    return [dict(zip([c.name for c in sheet.columns], row, strict=True)) for row in cells(sheet)]


def _even_decimals(sheet: Sheet, column: Column) -> int | None:
    """Return the decimals of all numbers of a column; None if they do not differ by just one."""
    if column.form != "number":
        return None
    rows = sheet.frame[[c for c in (column.name, column.low, column.high) if c in sheet.frame]]
    known = []
    for value, *ends in rows.astype(float).to_numpy().tolist():
        if math.isfinite(value):
            own = decimals_of(column.form, value, *(ends or [None, None]))
            known.append(len(value_text(value, column.form, own).partition(".")[2]))
    if not known or max(known) - min(known) != 1:
        return None
    # An end that is not zero must not look so.
    least = min(known)
    return least if (rows.abs().replace(0, math.inf).min(axis=None) >= 0.5 / 10**least) else None


def points_of(width: str, named: Mapping[str, float]) -> float:
    """Return a width on paper in LaTeX's points: one that has a name, or a length such as ``120mm``.

    Raises
    ------
    MetaevalError
        If it is neither.
    """
    if width in named:
        return named[width]
    found = re.fullmatch(r"(\d+(?:\.\d+)?) ?(pt|mm|cm|in)", width)
    if not found or not float(found[1]):
        raise MetaevalError(f"a width is {', '.join(named)}, or a length such as 120mm, not {width!r}")
    return float(found[1]) * _POINTS[found[2]]


def is_text(column: Column) -> bool:
    """Whether a column holds text, which is aligned to the left and may be wrapped."""
    return column.form in ("text", "code")


def heads_of(sheet: Sheet) -> list[str]:
    """Return the words above each row; empty for none."""
    return sheet.frame[sheet.heads].tolist() if sheet.heads else [""] * len(sheet.frame)


class Part(NamedTuple):
    """Some columns of a table that stand side by side; each part has the columns that name its rows."""

    columns: tuple[int, ...]
    widths: tuple[float, ...]
    rows: tuple[int, ...]
    """The rows that have a value in these columns."""

    def title_lines(self, titles: Sequence[str], measure: Measure) -> list[tuple[str, ...]]:
        """Return the lines of the titles, which stand at the foot of their cells."""
        places = zip(self.columns, self.widths, strict=True)
        return stacked([wrapped(titles[j], w, measure, words=True) for j, w in places], down=True)

    def wrapped_row(self, row: Sequence[str], texts: Sequence[bool], measure: Measure) -> list[list[str]]:
        """Return the lines of each cell of a row; only those of ``texts`` are wrapped."""
        places = zip(self.columns, self.widths, strict=True)
        return [wrapped(row[j], w, measure) if texts[j] else [row[j]] for j, w in places]


def stacked(row: Sequence[Sequence[str]], *, down: bool = False) -> list[tuple[str, ...]]:
    """Return the lines of a row whose cells have several each, from the top or ``down`` to the foot."""
    high = max(map(len, row))
    filled = [[""] * (high - len(c)) + [*c] if down else [*c] + [""] * (high - len(c)) for c in row]
    return [*zip(*filled, strict=True)]


def is_numeric(column: Sequence[str]) -> bool:
    """Whether a column of text, such as one of ranks, reads as one of numbers."""
    return all(_NUMERIC.fullmatch(text) for text in column) and any(column)


def wrapped(text: str, width: float, measure: Measure, *, words: bool = False) -> list[str]:
    """Return the lines of a text, each at most ``width`` wide; names break behind commas, slashes and ( too.

    A piece that is too long for a line is broken where the line ends; ``words`` are broken only then.
    """
    lines = [""]
    for piece in (_WORDS if words else _BREAKS).split(" ".join(text.split())):
        if lines[-1] and measure(lines[-1] + piece.rstrip()) > width:
            lines.append("")
        for character in piece if measure(piece.rstrip()) > width else [piece]:
            if lines[-1] and measure((lines[-1] + character).rstrip()) > width:
                lines.append("")
            lines[-1] += character
    return [line.rstrip() for line in lines]


def fold(
    titles: Sequence[str],
    rows: Sequence[Sequence[str]],
    texts: Sequence[bool],
    *,
    room: float,
    measure: Measure,
    gap: float,
) -> list[Part]:
    """Lay columns out side by side, in as few parts as there is room for.

    ``texts`` says which columns hold text, and may be wrapped; ``room`` is the width of a part, ``gap`` that
    between two columns, and ``measure`` returns that of a text.
    """
    columns = [[row[j] for row in rows] for j in range(len(titles))]
    needs = [max(map(measure, column), default=0) for column in columns]
    whole = [max(need, measure(title)) for need, title in zip(needs, titles, strict=True)]
    everything = tuple(range(len(titles)))
    if sum(whole) + gap * (len(whole) - 1) <= room:
        return [Part(everything, tuple(whole), tuple(range(len(rows))))]
    # The words of a title may stand below each other.
    heads = [max(map(measure, title.split()), default=0) for title in titles]
    least = [max(both) for both in zip(needs, heads, strict=True)]
    keys = keys_of(columns, texts)
    named = [text for j in everything if texts[j] for text in columns[j]]
    step, widest = measure("0"), max(map(measure, named), default=0)
    # A name is broken within a piece last.
    pieces = [[measure(p.rstrip()) for text in column for p in _BREAKS.split(text)] for column in columns]
    narrowest = [min(max([_NARROWEST * step, *of]), room / 2) for of in pieces]
    least_cap = min((n for n, text in zip(narrowest, texts, strict=True) if text), default=widest)
    caps = [widest - i * step for i in range(max(1, int((widest - least_cap) / step) + 1))]

    # A title that comes again, such as Cluster, says nothing without the column before it.
    together: list[list[int]] = []
    for j in everything:
        again = j > 0 and titles.count(titles[j]) > 1 == titles.count(titles[j - 1])
        if again and j not in keys and j - 1 not in keys:
            together[-1].append(j)
        else:
            together.append([j])

    def laid(cap: float) -> list[tuple[tuple[int, ...], tuple[float, ...]]]:
        widths = [
            max(min(need, max(cap, n)), head) if text else most
            for need, n, head, most, text in zip(needs, narrowest, heads, least, texts, strict=True)
        ]
        if keys:  # a column beside the names has room at least
            free = room - sum(widths[k] + gap for k in keys)
            widths = [
                w if j in keys or not texts[j] else max(min(w, max(free, _NARROWEST * step)), heads[j])
                for j, w in enumerate(widths)
            ]
        parts: list[list[int]] = [[]]
        for some in together:
            wider = [*parts[-1], *some]
            if some[0] not in keys and parts[-1] and sum(widths[i] + gap for i in wider) - gap > room:
                parts.append([*keys, *some])
            else:
                parts[-1] += some
        return [(tuple(part), tuple(widths[j] for j in part)) for part in parts]

    def worth(cap: float) -> tuple[int, int, float]:
        parts = laid(cap)
        over = any(sum(widths) + gap * (len(widths) - 1) > room for _, widths in parts)
        return (over * len(titles) + len(parts), -len(parts[0][0]), -cap)

    first, *others = laid(min(caps, key=worth))
    further = [Part(*part, _holding(part[0], keys, columns)) for part in others]
    return [Part(*first, tuple(range(len(rows)))), *(part for part in further if part.rows)]


def keys_of(columns: Sequence[Sequence[str]], texts: Sequence[bool]) -> tuple[int, ...]:
    """Return the columns that name a row: the first of text, and as many as tell the rows apart.

    If these do not, it is the first column where that does, such as one of sizes, or where all hold text.
    """
    named = [j for j, text in enumerate(texts) if text and not is_numeric(columns[j])]
    names: list[int] = []
    for j in named:
        if names and j != names[-1] + 1:
            break
        names.append(j)
        rows = list(zip(*(columns[k] for k in names), strict=True))
        if len(set(rows)) == len(rows):
            return tuple(names)
    first = bool(columns) and len(set(columns[0])) == len(columns[0])
    return (0,) if first or len(names) == len(columns) else tuple(names)


def _holding(part: Sequence[int], keys: Sequence[int], columns: Sequence[Sequence[str]]) -> tuple[int, ...]:
    own = [columns[j] for j in part if j not in keys]
    rows = len(columns[0]) if columns else 0
    return tuple(i for i in range(rows) if any(c[i].strip() not in ("", NOTHING) for c in own))
