r"""What all LaTeX tables have in common: ``table*`` with booktabs rules, for ``\input`` into a paper."""

from __future__ import annotations

import hashlib
import math
import re
from typing import TYPE_CHECKING

from metaeval.base.simulation import REAL
from metaeval.reports import escapes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from metaeval.base.simulation import Simulation

HEAD = (
    r"% Needs \usepackage{booktabs,graphicx,textcomp} and \usepackage[T1]{fontenc};",
    "% names in other scripts than Latin need XeLaTeX or LuaLaTeX with a font that has them.",
)
_ROWS_A_PAGE = 45
# What sentences may hold beside the characters of names.
_SIGNS = str.maketrans(
    {
        "≥": r"$\geq$",
        "≤": r"$\leq$",
        "≈": r"$\approx$",
        "±": r"$\pm$",
        "−": "$-$",
        "·": r"$\cdot$",
        "²": "$^2$",
        "√": r"$\surd$",
        "∞": r"$\infty$",
        "…": r"\ldots{}",
        "α": r"$\alpha$",
        "β": r"$\beta$",
        "κ": r"$\kappa$",
        "λ": r"$\lambda$",
        "σ": r"$\sigma$",
    }
)
_APOSTROPHE = re.compile(r"(?<=[A-Za-z])'(?=s\b)")
_PERCENT = re.compile(r"(?<=[0-9]) (?=\\%)")  # a line may not end between a number and its sign
# A table wider than the page is made smaller, a narrow one is left as it is.
_FIT = r"\resizebox{\ifdim\width>\textwidth\textwidth\else\width\fi}{!}{%"


def rows_per_table(rows: int) -> int:
    """Return how many rows each table has if as few tables as fit a page each share them evenly."""
    return math.ceil(rows / math.ceil(rows / _ROWS_A_PAGE)) if rows else 1


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


def escaped(text: str) -> str:
    """Return a name, or a word of a table, as LaTeX sets it."""
    return escapes.latex(text).translate(_SIGNS)


def prose(text: str) -> str:
    """Return sentences as LaTeX sets them."""
    return _PERCENT.sub("~", escaped(_APOSTROPHE.sub("’", text)))


def environment(
    *,
    caption: str,
    label: str,
    alignment: str,
    body: Sequence[str],
    notes: str = "",
    continued: bool = False,
    simulated: Simulation = REAL,
) -> Iterator[str]:
    r"""Yield the lines of one table.

    Parameters
    ----------
    caption, notes
        Sentences above and below, not yet escaped.
    label
        What ``\ref`` calls it, behind ``tab:``.
    alignment
        A letter per column.
    body
        The lines between the outer rules.
    continued
        Whether it goes on with the table before it, so that it has the same number.
    simulated
        What is, which is then said loudly.
    """
    loud = rf"\textbf{{{simulated.loud}}} " if simulated else ""
    yield ""
    yield r"\begin{table*}"
    yield r"  \centering"
    if continued:
        yield r"  \addtocounter{table}{-1}"
    yield f"  \\caption{{{loud}{prose(caption)}}}"
    if not continued:
        yield f"  \\label{{tab:{label}}}"
    yield r"  \smallskip"
    yield r"  \setlength{\tabcolsep}{4pt}"
    yield f"  {_FIT}"
    yield f"  \\begin{{tabular}}{{{alignment}}}"
    yield r"    \toprule"
    yield from body
    yield r"    \bottomrule"
    yield r"  \end{tabular}}"
    if notes:
        yield r"  \par\smallskip"
        yield f"  \\parbox{{\\textwidth}}{{\\footnotesize {prose(notes)}}}"
    yield r"\end{table*}"
