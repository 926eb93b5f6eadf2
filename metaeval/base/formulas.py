"""Text in CSV results that a spreadsheet program would run as a formula: made safe, and read back as it was.

Results are written and read by this module alone. Data sets are the user's own tables, and are left exact.
"""

from __future__ import annotations

import csv
import math
import os
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal, TextIO

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

# A cell that begins so may be run as a formula (OWASP, "CSV Injection"): also in full width, and after blanks
# that a program leaves out.
_FORMULA = re.compile(r"(?P<quotes>'*)(?:[\t\r\n]|\s*[=+\-@＝＋－＠])")
_NUMBER = re.compile(r"[+-]?(\d+(,\d{3})*(\.\d*)?|\.\d+)([eE][+-]?\d+)?( ?%)?")


def protected(cell: str) -> str:
    """Return a text with a quote before it if a program might run it as a formula."""
    return f"'{cell}" if _FORMULA.match(cell) else cell


def unprotected(cell: str) -> str:
    """Return the text that `protected` was given."""
    match = _FORMULA.match(cell)
    return cell[1:] if match and match["quotes"] else cell


def safe(cell: Any) -> Any:  # noqa: ANN401 - whatever the cell of a table holds
    """Return a cell of a result: text is `protected`, numbers stay numbers, also those that are printed."""
    return protected(cell) if isinstance(cell, str) and not _NUMBER.fullmatch(cell) else cell


def to_csv(frame: pd.DataFrame, file: Path | None = None) -> str:
    """Return a frame as CSV with safe text and every digit; write it to a file, if one is given."""
    texts = [c for c in frame.columns if frame[c].dtype.kind not in "biufmM"]
    made = frame.assign(**{c: frame[c].astype(object).map(safe, na_action="ignore") for c in texts})
    # Python's writer leaves a lone carriage return unquoted, and readers take it for the end of the row.
    awkward = any(isinstance(cell, str) and "\r" in cell for c in texts for cell in [c, *made[c]])
    quoting: Literal[0, 2] = csv.QUOTE_NONNUMERIC if awkward else csv.QUOTE_MINIMAL
    text: str = made.rename(columns=safe).to_csv(index=False, lineterminator="\n", quoting=quoting)
    if file is not None:
        file.write_text(text, encoding="utf-8", newline="\n")
    return text


def read_csv(
    file: str | os.PathLike[str] | TextIO, numbers: Iterable[str] = (), *, texts: Iterable[str] | None = None
) -> pd.DataFrame:
    """Return a result of `to_csv`: ``numbers`` (or all but ``texts``) to the last bit, the others as text."""
    import pandas as pd

    frame = pd.read_csv(file, dtype=str, keep_default_na=False).rename(columns=unprotected)
    wanted = set(numbers) if texts is None else {*frame.columns} - {*texts}
    for name in frame:
        # Python reads a number back to the last bit.
        read = [float(t) if t else math.nan for t in frame[name]] if name in wanted else None
        frame[name] = frame[name].map(unprotected) if read is None else read
    return frame
