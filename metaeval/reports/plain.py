"""Sheets as plain text for a terminal: aligned columns that fit its width."""

from __future__ import annotations

import shutil
from collections.abc import Sequence

from metaeval.engine.sheet import MARKS_SAID, Mark
from metaeval.reports.folding import Part, fold, is_numeric, wrapped

MARKS: dict[Mark, str] = {"best": "{}*", "second": "{}+"}
_MARKS_SAID = "The best value has *, the second has +"
_GAP = 2
_LEAST = 40  # characters; a narrower terminal wraps the lines itself


def room() -> int:
    """Return the width of the terminal, or ``COLUMNS``; 80 if the output goes elsewhere."""
    return max(_LEAST, shutil.get_terminal_size().columns)


def prose(text: str, width: int) -> str:
    """Return sentences in lines of a width."""
    from rich.cells import cell_len

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
    from rich.cells import cell_len

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
