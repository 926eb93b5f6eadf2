"""Tables wider than the place they are put in: names are wrapped, and columns go on in a further part."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from metaeval.engine.sheet import NOTHING

Measure = Callable[[str], float]

_BREAKS = re.compile(r"(?<=[\s,/])")
_WORDS = re.compile(r"(?<=\s)")
_NUMERIC = re.compile(r"([\d.,/ %-]*\d[\d.,/ %-]*)?")
_NARROWEST = 16  # digits that a column of names keeps


class Part(NamedTuple):
    """Some columns of a table that stand side by side; each part has the columns that name its rows."""

    columns: tuple[int, ...]
    widths: tuple[float, ...]
    rows: tuple[int, ...]
    """Those that hold anything in these columns."""


def is_numeric(column: Sequence[str]) -> bool:
    """Whether a column of text, such as one of ranks, reads as one of numbers."""
    return all(_NUMERIC.fullmatch(text) for text in column) and any(column)


def wrapped(text: str, width: float, measure: Measure, *, words: bool = False) -> list[str]:
    """Return the lines of a text, each at most ``width`` wide; names break behind commas and slashes too.

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
    keys = _keys(columns, texts)
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
        told = j > 0 and titles.count(titles[j]) > 1 == titles.count(titles[j - 1])
        if told and j not in keys and j - 1 not in keys:
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
            held = [*parts[-1], *some]
            if some[0] not in keys and parts[-1] and sum(widths[i] + gap for i in held) - gap > room:
                parts.append([*keys, *some])
            else:
                parts[-1] += some
        return [(tuple(part), tuple(widths[j] for j in part)) for part in parts]

    def worth(cap: float) -> tuple[int, int, float]:
        parts = laid(cap)
        over = any(sum(widths) + gap * (len(widths) - 1) > room for _, widths in parts)
        return (over * len(titles) + len(parts), -len(parts[0][0]), -cap)

    first, *others = laid(min(caps, key=worth))
    found = [Part(*part, _holding(part[0], keys, columns)) for part in others]
    return [Part(*first, tuple(range(len(rows)))), *(part for part in found if part.rows)]


def _keys(columns: Sequence[Sequence[str]], texts: Sequence[bool]) -> tuple[int, ...]:
    """Return the columns that name a row: the first of text, and as many as tell the rows apart.

    If these do not, it is the first column where that does, such as one of sizes, or where all hold text.
    """
    named = [j for j, text in enumerate(texts) if text and not is_numeric(columns[j])]
    found: list[int] = []
    for j in named:
        if found and j != found[-1] + 1:
            break
        found.append(j)
        rows = list(zip(*(columns[k] for k in found), strict=True))
        if len(set(rows)) == len(rows):
            return tuple(found)
    first = bool(columns) and len(set(columns[0])) == len(columns[0])
    return (0,) if first or len(found) == len(columns) else tuple(found)


def _holding(part: Sequence[int], keys: Sequence[int], columns: Sequence[Sequence[str]]) -> tuple[int, ...]:
    own = [columns[j] for j in part if j not in keys]
    rows = len(columns[0]) if columns else 0
    return tuple(i for i in range(rows) if any(c[i].strip() not in ("", NOTHING) for c in own))
