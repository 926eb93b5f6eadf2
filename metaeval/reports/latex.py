r"""What all LaTeX tables have in common: ``table*`` with booktabs rules, for ``\input`` into a paper.

All are set in 8-point type. A table that is too wide for a page is turned on its side; one that is too wide
for that, too, is not turned but goes on in further tables, as one that is too long does.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from metaeval.base.simulation import REAL, Simulation
from metaeval.reports.plain import fold, wrapped

HEAD = (
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


def bodies(
    titles: Sequence[str],
    rows: Sequence[Sequence[str]],
    numbers: Sequence[Sequence[str]],
    texts: Sequence[bool],
    *,
    heads: Sequence[str],
    said: int,
) -> Iterator[Body]:
    """Yield the parts of a table, each of which fits a page.

    ``rows`` are the cells, not escaped, and ``numbers`` the cells as LaTeX sets them; those of columns with
    text (``texts``), which may be wrapped, are escaped here instead. ``heads`` are words above each row,
    empty for none. The caption and the notes have ``said`` characters, which take room, too.
    """
    plain = {
        turned: fold(titles, rows, texts, room=room - _GAP, measure=width_of, gap=_GAP)
        for turned, room in ((False, _ROOM), (True, _TURNED_ROOM))
    }
    turned = len(plain[False]) > 1 and len(plain[True]) == 1
    for part in plain[turned]:
        of = [*zip(part.columns, part.widths, strict=True)]
        title = _lines([wrapped(titles[j], w, width_of, words=True) for j, w in of], down=True)
        found = [
            _lines(
                [wrapped(rows[i][j], w, width_of) if texts[j] else [numbers[i][j]] for j, w in of],
                escape=[texts[j] for j, _ in of],
            )
            for i in part.rows
        ]
        # A word above rows takes a line, too; the first one is counted with the titles.
        above = [k > 0 and heads[i] != heads[part.rows[k - 1]] for k, i in enumerate(part.rows)]
        heights = [len(row) + head for row, head in zip(found, above, strict=True)]
        most = max(_LEAST_ROWS, _TURNED_ROWS - round(said / _TURNED_LINE)) if turned else _ROWS
        for chunk in _chunks(heights, most):
            lines = title + ([] if found else [r"    \midrule"])
            before = None
            for k in chunk:
                head = heads[part.rows[k]]
                if head != before:
                    lines.append(r"    \midrule")
                    if head:
                        lines.append(rf"    \multicolumn{{{len(of)}}}{{l}}{{\textit{{{escaped(head)}}}}} \\")
                before = head
                lines += found[k]
            yield Body("".join("l" if texts[j] else "r" for j, _ in of), lines, turned)


def _lines(
    cells: Sequence[Sequence[str]], *, down: bool = False, escape: Sequence[bool] | None = None
) -> list[str]:
    """Return the lines of a row whose cells have several lines each, at the top or ``down`` at the foot."""
    high = max(map(len, cells))
    texts = [
        [escaped(t) for t in cell] if escape is None or escape[j] else [*cell] for j, cell in enumerate(cells)
    ]
    full = [[""] * (high - len(t)) + t if down else t + [""] * (high - len(t)) for t in texts]
    return [rf"    {' & '.join(line)} \\" for line in zip(*full, strict=True)]


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
    found: list[str] = []
    for name in names:
        label = label_of(of, name)
        found.append(f"{label}-{len(found) + 1}" if label in found else label)
    return found


def label_of(*names: str) -> str:
    r"""Return what ``\ref`` calls a table, behind ``tab:``: the names that tell it from others in a paper.

    What LaTeX does not take in a label becomes a dash; names that would then be the same have a digest.
    """
    found = []
    for name in filter(None, names):
        plain = re.sub(r"[^A-Za-z0-9.:-]+", "-", name).strip("-")
        whole = name.isascii() and plain
        found += [plain] * bool(plain) + [hashlib.sha256(name.encode()).hexdigest()[:6]] * (not whole)
    return "-".join(found)


def paper(lines: Iterable[str]) -> str:
    r"""Return the lines of tables as one text; a page ends before LaTeX has more waiting than it can."""
    found, tables = [], 0
    for line in lines:
        found.append(line)
        tables += line == _END
        if line == _END and tables % _MOST_WAITING == 0:
            found.append(r"\clearpage")
    return "\n".join(found) + "\n"


def escaped(text: str) -> str:
    """Return a name, or a word of a table, as LaTeX sets it."""
    return " ".join(text.split()).translate(_CHARACTERS)


def prose(text: str) -> str:
    """Return sentences as LaTeX sets them."""
    return _PERCENT.sub("~", escaped(_APOSTROPHE.sub("’", text)))


def environment(
    *,
    caption: str,
    label: str,
    body: Body,
    notes: str = "",
    continued: bool = False,
    simulated: Simulation = REAL,
) -> Iterator[str]:
    r"""Yield the lines of one table.

    Caption and notes are sentences, not yet escaped; the label is what ``\ref`` calls the table, behind
    ``tab:``. One that is ``continued`` has the number of the table before it. What is simulated is said in
    capitals.
    """
    loud = rf"\textbf{{{simulated.loud}}} " if simulated else ""
    yield ""
    yield r"\begin{table*}" + ("[p]" if body.turned else "")
    yield r"  \centering"
    if body.turned:
        yield rf"  \rotatebox{{90}}{{\begin{{minipage}}{{{_TURNED_ROOM:g}pt}}\centering"
    if continued:
        yield r"  \addtocounter{table}{-1}"
    yield f"  \\caption{{{loud}{prose(caption)}}}"
    if not continued:
        yield f"  \\label{{tab:{label}}}"
    yield r"  \smallskip"
    yield rf"  \fontsize{{{_POINTS}}}{{{_POINTS * 1.2:g}}}\selectfont"
    yield rf"  \setlength{{\tabcolsep}}{{{_GAP / 2:g}pt}}"
    yield f"  \\begin{{tabular}}{{{body.alignment}}}"
    yield r"    \toprule"
    yield from body.lines
    yield r"    \bottomrule"
    yield r"  \end{tabular}"
    if notes:
        yield r"  \par\smallskip"
        yield f"  \\parbox{{\\linewidth}}{{\\footnotesize {prose(notes)}}}"
    if body.turned:
        yield r"  \end{minipage}}"
    yield _END
