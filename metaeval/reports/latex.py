r"""Sheets → LaTeX: tables with booktabs rules, for ``\input`` into a paper.

A table is as wide as a column or the text of a paper in two columns, or has a stated width. It is set in type
of 8 points, or 7 if all its columns stand side by side then; else columns without room stand below the others
in the same float. A table that is higher than a page goes on in further floats.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from metaeval.engine.sheet import NOTHING, Column, Mark, Sheet
from metaeval.reports.cells import Part, cells, fold, heads_of, is_text, points_of, stacked, wrapped

_HEAD = (
    r"% Needs \usepackage{booktabs,graphicx,textcomp} and \usepackage[T1]{fontenc};",
    "% names in scripts other than Latin need XeLaTeX or LuaLaTeX with a suitable font.",
)
WIDTHS = {"column": 221.0, "text": 452.0}
"""Points of a column and of the text of LaTeX's article in two columns, on A4; ACM's and IEEE's are wider."""
_WIDEST_COLUMN = 260.0  # of papers in two columns; a wider table stands across them
_HEIGHT = 520.0  # points, of a page
_TYPE = (8, 7)  # points
_GAP = 5.0  # points between two columns: twice \tabcolsep
_TO_NEXT = "\x1f"  # stands for the gap between the values of a cell
# Widths in ems of Computer Modern at 8 points, rounded up; any other character counts as the widest.
_WIDTHS = {
    **dict.fromkeys(".,", 0.33),
    **dict.fromkeys(" ijl:;'|!", 0.36),
    **dict.fromkeys("frst()[]/I", 0.45),
    **dict.fromkeys("0123456789abcdeghknopquvxyz*", 0.6),
    **dict.fromkeys("ABCDEFGHJKLNOPQRSTUVXYZ-+=", 0.88),
}
_MOST = 1.1
_MARKS: Mapping[Mark, str] = {"best": r"\textbf{{{}}}", "second": r"\underline{{{}}}"}
_MOST_OTHER = 8  # evaluators that a note on counts names
_MOST_WAITING = 15  # LaTeX of old holds 18 tables, that of today 52
_MATHS = {
    "×": "times",
    "ρ": "rho",
    "τ": "tau",
    "→": "rightarrow",
    "≥": "geq",
    "≤": "leq",
    "≈": "approx",
    "±": "pm",
    "·": "cdot",
    "µ": "mu",
    "√": "surd",
    "∞": "infty",
    "α": "alpha",
    "β": "beta",
    "κ": "kappa",
    "λ": "lambda",
    "σ": "sigma",
}
_NAMED = {
    "\\": "backslash",
    "~": "asciitilde",
    "^": "asciicircum",
    "<": "less",
    ">": "greater",
    "|": "bar",
    '"': "quotedbl",
    "'": "quotesingle",
    "`": "asciigrave",
}
_CHARACTERS = str.maketrans(
    {c: rf"\{c}" for c in "&%$#_{}"}
    | {c: rf"\text{name}{{}}" for c, name in _NAMED.items()}
    | {c: rf"$\{name}$" for c, name in _MATHS.items()}
    | {c: f"{{{c}}}" for c in "[]*"}  # after a line end, a bracket or a star would belong to it
    | {"—": "---", "–": "--", "−": "$-$", "²": "$^2$", "…": r"\ldots{}"}
)
_APOSTROPHE = re.compile(r"(?<=[A-Za-z])'(?=s\b)")
_PERCENT = re.compile(r"(?<=[0-9]) (?=\\%)")  # a line may not end between a number and its sign


class TablePanel(NamedTuple):
    """Columns of a table that stand side by side, as one ``tabular``."""

    alignment: str
    """A letter per column."""
    title: list[str]
    """The lines of the titles."""
    rows: list[list[str]]
    """The lines of each row, with what stands above it."""


def width_of(text: str, size: float = _TYPE[0]) -> float:
    """Return how wide a text in type of a size comes out at most, in points."""
    return sum(_GAP if c == _TO_NEXT else size * _WIDTHS.get(c, _MOST) for c in text)


def _number(text: str) -> str:
    return escaped(text) if text == NOTHING else escaped(text).replace("-", "$-$")


def _initials(column: Column) -> list[str]:
    """Return what stands above the values of a cell: initials that differ, or whole words."""
    letters = [part[:1].upper() for part in column.parts]
    return letters if len({*letters}) == len(letters) else [*column.parts]


def _counts_said(sheet: Sheet) -> Sheet:
    """Return a sheet whose counts are said in notes: the most frequent, and those of the few other rows."""
    notes, kept, (first, *_) = list(sheet.notes), [*sheet.columns], sheet.columns
    for column in sheet.columns:
        if column.form == "counts":
            counts = sheet.frame[column.name]
            usual = counts.mode()[0]
            names = sheet.frame.loc[counts != usual, first.name]
            if len(names) <= _MOST_OTHER:
                others = ", ".join(f"{counts[i]} of {name}" for i, name in names.items())
                notes.append(f"{column.title.capitalize()}: {usual}{', but ' * bool(others)}{others}.")
                kept.remove(column)
    return replace(sheet, columns=tuple(kept), notes=tuple(notes))


def _panels(sheet: Sheet, room: float, size: float) -> list[TablePanel]:
    """Return the parts of a table in type of a size, each of which is no wider than there is room.

    Text is wrapped, and escaped then; numbers are set as they are. Values of a cell that have names stand in
    columns of their own.
    """
    titles, texts = [c.title for c in sheet.columns], [is_text(c) for c in sheet.columns]
    plain, numbers = cells(sheet), cells(sheet, number=_number, marks=_MARKS)
    columns = [[row[j] for row in plain] for j in range(len(titles))]
    for j, column in enumerate(sheet.columns):
        if column.parts and plain:
            values = zip(*(text.split(" / ") for text in columns[j]), strict=True)
            columns[j] = [_TO_NEXT.join(max(of, key=width_of) for of in values)] * len(plain)
    rows, measure = [*zip(*columns, strict=True)] if plain else [], partial(width_of, size=size)
    parts = fold(titles, rows, texts, room=room, measure=measure, gap=_GAP)
    return [_panel(sheet, part, plain, numbers, measure) for part in parts]


def _panel(
    sheet: Sheet,
    part: Part,
    plain: Sequence[Sequence[str]],
    numbers: Sequence[Sequence[str]],
    measure: Callable[[str], float],
) -> TablePanel:
    columns = [sheet.columns[j] for j in part.columns]
    texts, heads = [is_text(c) for c in sheet.columns], heads_of(sheet)
    many = [max(1, len(c.parts)) for c in columns]
    above = [
        wrapped(c.title, w, measure, words=True) + ([""] if c.parts else [])
        for c, w in zip(columns, part.widths, strict=True)
    ]
    *upper, last = stacked(above, down=True)
    title = [
        _line(
            rf"\multicolumn{{{n}}}{{c}}{{{escaped(t)}}}" if n > 1 else escaped(t)
            for t, n in zip(line, many, strict=True)
        )
        for line in upper
    ]
    places = [(sum(many[:k]) + 1, sum(many[: k + 1])) for k, n in enumerate(many) if n > 1]
    if places:
        title.append("    " + " ".join(rf"\cmidrule(lr){{{low}-{high}}}" for low, high in places))
    below = [_initials(c) if c.parts else [escaped(t)] for c, t in zip(columns, last, strict=True)]
    title.append(_line(text for texts_of in below for text in texts_of))
    lines, before = list[list[str]](), None
    for i in part.rows:
        wraps = zip(part.columns, part.wrapped_row(plain[i], texts, measure), strict=True)
        row = stacked([[*map(escaped, c)] if texts[j] else [numbers[i][j]] for j, c in wraps])
        spread = [
            [v for t, n in zip(line, many, strict=True) for v in (t.split(" / ") if n > 1 and t else [t] * n)]
            for line in row
        ]
        head = [r"    \midrule"] if heads[i] != before else []
        if head and heads[i]:
            head.append(rf"    \multicolumn{{{sum(many)}}}{{l}}{{\textit{{{escaped(heads[i])}}}}} \\")
        before = heads[i]
        lines.append([*head, *map(_line, spread)])
    letters = ["l" if texts[j] else "r" * n for j, n in zip(part.columns, many, strict=True)]
    return TablePanel("@{}" + "".join(letters) + "@{}", title, lines or [[r"    \midrule"]])


def _line(texts: Iterable[str]) -> str:
    return rf"    {' & '.join(texts)} \\"


def _floats(panels: Sequence[TablePanel], most: float, on: float) -> Iterator[list[TablePanel]]:
    """Yield what stands in each float: ``most`` lines in the first one, ``on`` in those after it."""
    held, high = list[TablePanel](), 0.0
    for panel in panels:
        top, own = len(panel.title) + 1.5, list[list[str]]()
        whole = sum(map(len, panel.rows)) + top
        if held and high + whole > most and whole <= on:
            yield held
            held, high, most = [], 0.0, on
        high += top
        for row in panel.rows:
            if high + len(row) > most and (held or own):
                yield [*held, *([panel._replace(rows=own)] if own else [])]
                held, own, high, most = [], [], top, on
            own.append(row if own or row[0].endswith("midrule") else [r"    \midrule", *row])
            high += len(row)
        held.append(panel._replace(rows=own))
    yield held


def labels(of: str, names: Sequence[str]) -> list[str]:
    """Return a label for each of several tables; no two are the same."""
    made: list[str] = []
    for name in names:
        label = label_of(of, name)
        made.append(f"{label}-{len(made) + 1}" if label in made else label)
    return made


def label_of(*names: str) -> str:
    r"""Return what ``\ref`` calls a table, behind ``tab:``: the names that tell it from others in a paper.

    What LaTeX does not take in a label becomes a dash; names that would then be the same have a digest.
    """
    parts = []
    for name in filter(None, names):
        allowed = re.sub(r"[^A-Za-z0-9.:-]+", "-", name).strip("-")
        whole = name.isascii() and allowed
        parts += [allowed] * bool(allowed) + [hashlib.sha256(name.encode()).hexdigest()[:6]] * (not whole)
    return "-".join(parts)


def paper(sheets: Sequence[Sheet], of: str = "", *, above: Iterable[str] = (), width: str = "text") -> str:
    r"""Return the tables of sheets as one text, to be put into a paper.

    What they are ``of`` tells their labels from others in the paper; lines ``above`` come after those on what
    the tables need. ``width`` is ``column``, ``text``, or a length such as ``120mm``. A page ends before
    LaTeX has more tables waiting than it can.
    """
    room = points_of(width, WIDTHS)
    narrow = f"% Set for a width of {room:g}pt; where there is less, the type shrinks: state it by --width."
    lines, tables = [*_HEAD, narrow, *above], 0
    for sheet, label in zip(sheets, labels(of, [sheet.name for sheet in sheets]), strict=True):
        for line in _tables(sheet, label, room):
            lines.append(line)
            ends = line.startswith(r"\end{table")
            tables += ends
            if ends and tables % _MOST_WAITING == 0:
                lines.append(r"\clearpage")
    return "\n".join(lines) + "\n"


def escaped(text: str) -> str:
    """Return a name, or a word of a table, as LaTeX sets it."""
    return " ".join(text.split()).translate(_CHARACTERS)


def prose(text: str) -> str:
    """Return sentences as LaTeX sets them."""
    return _PERCENT.sub("~", escaped(_APOSTROPHE.sub("’", text)))


def _tables(sheet: Sheet, label: str, room: float) -> Iterator[str]:
    r"""Yield the lines of floats; a table that is too high for one goes on in further ones.

    The label is what ``\ref`` calls the table, behind ``tab:``; a further one has the number of the first.
    What is simulated is said in capitals, and in a comment above unless it was said before.
    """
    sheet = _counts_said(sheet)
    simulated, title = sheet.told, sheet.title.rstrip(".")
    caption, notes = sheet.caption or f"{title}.", " ".join(filter(None, [*sheet.notes, simulated.sentence]))
    for column in sheet.columns:
        named = " / ".join(f"{p} ({i})" for p, i in zip(column.parts, _initials(column), strict=True))
        notes = notes.replace(" / ".join(column.parts), named) if named else notes
    loud = rf"\textbf{{{simulated.loud}}} " if simulated else ""
    if simulated and not simulated.told:
        yield f"% {simulated.loud}"
    words = 1.2 * width_of(caption + notes) / room  # lines
    kind = "table" if room <= _WIDEST_COLUMN else "table*"
    made = []
    for size in _TYPE:
        panels, high = _panels(sheet, room, size), _HEIGHT / (1.2 * size)
        made.append((len(panels), [*_floats(panels, high - words, high)], size))
    _, floats, size = min(made, key=lambda one: (one[0], len(one[1]) > 1, -one[2]))
    for i, held in enumerate(floats):
        yield ""
        yield rf"\begin{{{kind}}}"
        yield r"  \centering"
        if i:
            yield r"  \addtocounter{table}{-1}"
            yield f"  \\caption{{{loud}{prose(f'{title} (continued).')}}}"
        else:
            yield f"  \\caption{{{loud}{prose(caption)}}}"
            yield f"  \\label{{tab:{label}}}"
        yield rf"  \fontsize{{{size}}}{{{size * 1.2:g}}}\selectfont"
        yield rf"  \setlength{{\tabcolsep}}{{{_GAP / 2:g}pt}}"
        for panel in held:
            yield r"  \par\smallskip"
            yield rf"  \sbox0{{\begin{{tabular}}{{{panel.alignment}}}"
            yield r"    \toprule"
            yield from panel.title
            for row in panel.rows:
                yield from row
            yield r"    \bottomrule"
            yield r"  \end{tabular}}%"
            yield r"  \ifdim\wd0>\linewidth\resizebox{\linewidth}{!}{\usebox0}\else\usebox0\fi"
        if notes and not i:
            yield r"  \par\smallskip"
            yield rf"  \parbox{{\linewidth}}{{{prose(notes)}}}"
        yield rf"\end{{{kind}}}"
