"""Tables that fit their place, a page or a terminal: folded into parts, and as plain text."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import NamedTuple

from rich.cells import cell_len

from metaeval.engine.sheet import MARKS_SAID, NOTHING, Mark

Measure = Callable[[str], float]

_BREAKS = re.compile(r"(?<=[\s,/(])")
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


def keys_of(columns: Sequence[Sequence[str]], texts: Sequence[bool]) -> tuple[int, ...]:
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


MARKS: dict[Mark, str] = {"best": "{}*", "second": "{}+"}
_MARKS_SAID = "The best value has *, the second has +"
fitted: ContextVar[bool] = ContextVar("fitted", default=False)
"""Whether columns without room are left out, as on a terminal; else they go on below."""
_GAP = 2
_LEAST = 40  # characters; a narrower terminal wraps the lines itself


def room() -> int:
    """Return the width of the terminal, or ``COLUMNS``; 80 if the output goes elsewhere."""
    return max(_LEAST, shutil.get_terminal_size().columns)


def prose(text: str, width: int) -> str:
    """Return sentences in lines of a width."""
    said = text.replace(MARKS_SAID, _MARKS_SAID)
    return "\n".join(wrapped(said, width, cell_len, words=True))


def table(
    titles: Sequence[str],
    rows: Sequence[Sequence[str]],
    texts: Sequence[bool],
    heads: Sequence[str],
    width: int,
) -> str:
    """Return an aligned table; columns that do not fit go on below, with the names of the rows again.

    ``texts`` says which columns hold text, which is aligned to the left and may be wrapped; ``heads`` are
    words above each row, empty for none; ``width`` is in characters.
    """
    columns = [[row[j] for row in rows] for j in range(len(titles))]
    left = [text and not is_numeric(column) for text, column in zip(texts, columns, strict=True)]
    columns = [column if text else _aligned(column) for text, column in zip(left, columns, strict=True)]
    indent = "  " if any(heads) else ""
    cells = [list(row) for row in zip(*columns, strict=True)]

    def laid(of: list[list[str]], part: Part, *, down: bool) -> list[str]:
        """Return the lines of each cell beside those of the others, from the top or ``down`` to the foot."""
        high = max(map(len, of))
        of = [[""] * (high - len(c)) + c if down else c + [""] * (high - len(c)) for c in of]
        return [ruled([(c[i], j, w) for c, j, w in zip(of, *part[:2], strict=True)]) for i in range(high)]

    def ruled(line: list[tuple[str, int, float]]) -> str:
        spaces = [" " * (int(width) - cell_len(text)) for text, _, width in line]
        found = [text + s if left[j] else s + text for (text, j, _), s in zip(line, spaces, strict=True)]
        return (indent + (" " * _GAP).join(found)).rstrip()

    blocks = []
    for part in fold(titles, cells, left, room=width - len(indent), measure=cell_len, gap=_GAP):
        of = [*zip(part.columns, part.widths, strict=True)]
        block = laid([wrapped(titles[j], w, cell_len, words=True) for j, w in of], part, down=True)
        block.append(ruled([("-" * int(w), j, w) for j, w in of]))
        said = ""
        for i in part.rows:
            if heads[i] and heads[i] != said:
                said = heads[i]
                block.append(said)
            row = [wrapped(cells[i][j], w, cell_len) if left[j] else [cells[i][j]] for j, w in of]
            block += laid(row, part, down=False)
        blocks.append("\n".join(block))
    return "\n\n".join(blocks)


def _aligned(column: Sequence[str]) -> list[str]:
    """Return cells of one width, in which the numbers are aligned, and the intervals behind them."""
    signs = tuple(mark.format("") for mark in MARKS.values())
    cells = [text.partition(" [") for text in column]
    parts = [number.split(" / ") for number, _, _ in cells]
    if any(part.endswith(signs) for of in parts for part in of):
        # A mark takes the place of the space behind a number.
        parts = [[part if part.endswith(signs) else f"{part} " for part in of] for of in parts]
        slash = "/ "
    else:
        slash = " / "
    wide = [max(len(of[i]) for of in parts if i < len(of)) for i in range(max(map(len, parts), default=0))]
    texts = [
        slash.join(part.rjust(w) for part, w in zip(of, wide, strict=False)) + opening + interval
        for of, (_, opening, interval) in zip(parts, cells, strict=True)
    ]
    return [text.ljust(max(map(len, texts))) for text in texts]
