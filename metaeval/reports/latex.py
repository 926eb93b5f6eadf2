r"""Sheets → LaTeX: ``table*`` with booktabs rules, for ``\input`` into a paper.

All are set in 8-point type. A table that is too wide for a page is turned on its side; one that is too wide
for that, too, is not turned but goes on in further tables, as one that is too long does.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from metaeval.engine.sheet import NOTHING, Mark, Sheet
from metaeval.reports.cells import cells, fold, heads_of, is_text, stacked

_HEAD = (
    r"% Needs \usepackage{booktabs,graphicx,textcomp} and \usepackage[T1]{fontenc};",
    "% names in scripts other than Latin need XeLaTeX or LuaLaTeX with a suitable font.",
)
_POINTS = 8
_ROOM, _TURNED_ROOM = 335.0, 525.0  # points; the text of LaTeX's own classes is 345 wide, and 550 high
_ROWS, _TURNED_ROWS, _LEAST_ROWS = 45, 28, 5
_TURNED_LINE = 105  # characters of the notes of a table on its side
_GAP = 6.0  # twice \tabcolsep
# Widths in ems of Computer Modern at 8 points, rounded up; any other character counts as the widest.
_WIDTHS = {
    **dict.fromkeys(" ijl.,:;'|!", 0.36),
    **dict.fromkeys("frst()[]/I", 0.45),
    **dict.fromkeys("0123456789abcdeghknopquvxyz*", 0.6),
    **dict.fromkeys("ABCDEFGHJKLNOPQRSTUVXYZ-+=", 0.88),
}
_MOST = 1.1
_MARKS: Mapping[Mark, str] = {"best": r"\textbf{{{}}}", "second": r"\underline{{{}}}"}
_END = r"\end{table*}"
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


class Body(NamedTuple):
    """What one ``tabular`` holds."""

    alignment: str
    """A letter per column."""
    lines: list[str]
    """Between the outer rules."""
    turned: bool
    """Whether it stands on its side."""


def width_of(text: str) -> float:
    """Return how wide a text comes out at most, in points."""
    return _POINTS * sum(_WIDTHS.get(character, _MOST) for character in text)


def _number(text: str) -> str:
    return escaped(text) if text == NOTHING else escaped(text).replace("-", "$-$")


def _bodies(sheet: Sheet, words: int) -> Iterator[Body]:
    """Yield the parts of a table, each of which fits a page.

    Text is wrapped, and escaped then; numbers are set as they are. The caption and the notes have as many
    characters as ``words`` says, which take room, too.
    """
    titles, texts = [c.title for c in sheet.columns], [is_text(c) for c in sheet.columns]
    rows, numbers = cells(sheet), cells(sheet, number=_number, marks=_MARKS)
    heads = heads_of(sheet)
    upright, turned = (
        fold(titles, rows, texts, room=room - _GAP, measure=width_of, gap=_GAP)
        for room in (_ROOM, _TURNED_ROOM)
    )
    on_side = len(upright) > 1 and len(turned) == 1
    most = max(_LEAST_ROWS, _TURNED_ROWS - round(words / _TURNED_LINE)) if on_side else _ROWS
    for part in turned if on_side else upright:
        title = _lines([[escaped(t) for t in line] for line in part.title_lines(titles, width_of)])
        set_rows = []
        for i in part.rows:
            wrapped_row = zip(part.columns, part.wrapped_row(rows[i], texts, width_of), strict=True)
            row = [[*map(escaped, c)] if texts[j] else [numbers[i][j]] for j, c in wrapped_row]
            set_rows.append(_lines(stacked(row)))
        # A word above rows takes a line, too; the first one is counted with the titles.
        above = [k > 0 and heads[i] != heads[part.rows[k - 1]] for k, i in enumerate(part.rows)]
        heights = [len(row) + head for row, head in zip(set_rows, above, strict=True)]
        for chunk in _chunks(heights, most):
            lines = title + ([] if set_rows else [r"    \midrule"])
            before = None
            for k in chunk:
                head = heads[part.rows[k]]
                if head != before:
                    lines.append(r"    \midrule")
                    if head:
                        across = len(part.columns)
                        lines.append(rf"    \multicolumn{{{across}}}{{l}}{{\textit{{{escaped(head)}}}}} \\")
                before = head
                lines += set_rows[k]
            yield Body("".join("l" if texts[j] else "r" for j in part.columns), lines, on_side)


def _lines(stacked_cells: Iterable[Sequence[str]]) -> list[str]:
    return [rf"    {' & '.join(line)} \\" for line in stacked_cells]


def _chunks(heights: Sequence[int], most: int) -> Iterator[range]:
    """Yield ranges of rows for as few tables as fit a page each, which share the rows evenly."""
    total = sum(heights)
    even = math.ceil(total / math.ceil(total / most)) if total else 1
    first = high = 0
    for i, height in enumerate(heights):
        if high and high + height > even:
            yield range(first, i)
            first, high = i, 0
        high += height
    yield range(first, len(heights))


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


def paper(sheets: Sequence[Sheet], of: str = "", *, above: Iterable[str] = ()) -> str:
    r"""Return the tables of sheets as one text, to be put into a paper.

    What they are ``of`` tells their labels from others in the paper; lines ``above`` come after those on what
    the tables need. A page ends before LaTeX has more tables waiting than it can.
    """
    lines, tables = [*_HEAD, *above], 0
    for sheet, label in zip(sheets, labels(of, [sheet.name for sheet in sheets]), strict=True):
        for line in _tables(sheet, label):
            lines.append(line)
            tables += line == _END
            if line == _END and tables % _MOST_WAITING == 0:
                lines.append(r"\clearpage")
    return "\n".join(lines) + "\n"


def escaped(text: str) -> str:
    """Return a name, or a word of a table, as LaTeX sets it."""
    return " ".join(text.split()).translate(_CHARACTERS)


def prose(text: str) -> str:
    """Return sentences as LaTeX sets them."""
    return _PERCENT.sub("~", escaped(_APOSTROPHE.sub("’", text)))


def _tables(sheet: Sheet, label: str) -> Iterator[str]:
    r"""Yield the lines of ``table*`` environments; one that is too long or too wide goes on in further ones.

    The label is what ``\ref`` calls the table, behind ``tab:``; a further one has the number of the first.
    What is simulated is said in capitals, and in a comment above unless it was said before.
    """
    simulated, title = sheet.simulated, sheet.title.rstrip(".")
    caption, notes = sheet.caption or f"{title}.", " ".join(filter(None, [*sheet.notes, simulated.sentence]))
    loud = rf"\textbf{{{simulated.loud}}} " if simulated else ""
    if simulated and not simulated.told:
        yield f"% {simulated.loud}"
    for i, body in enumerate(_bodies(sheet, len(caption + notes))):
        yield ""
        yield r"\begin{table*}" + ("[p]" if body.turned else "")
        yield r"  \centering"
        if body.turned:
            yield rf"  \rotatebox{{90}}{{\begin{{minipage}}{{{_TURNED_ROOM:g}pt}}\centering"
        if i:
            yield r"  \addtocounter{table}{-1}"
            yield f"  \\caption{{{loud}{prose(f'{title} (continued).')}}}"
        else:
            yield f"  \\caption{{{loud}{prose(caption)}}}"
            yield f"  \\label{{tab:{label}}}"
        yield r"  \smallskip"
        yield rf"  \fontsize{{{_POINTS}}}{{{_POINTS * 1.2:g}}}\selectfont"
        yield rf"  \setlength{{\tabcolsep}}{{{_GAP / 2:g}pt}}"
        yield f"  \\begin{{tabular}}{{{body.alignment}}}"
        yield r"    \toprule"
        yield from body.lines
        yield r"    \bottomrule"
        yield r"  \end{tabular}"
        if notes and not i:
            yield r"  \par\smallskip"
            yield f"  \\parbox{{\\linewidth}}{{\\footnotesize {prose(notes)}}}"
        if body.turned:
            yield r"  \end{minipage}}"
        yield _END
