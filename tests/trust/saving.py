"""Files as spreadsheet programs save them, made of files that they open."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Rows = list[list[str]]


@dataclass(frozen=True)
class Style:
    """How a program writes a table."""

    separator: str = ","
    encoding: str = "utf-8-sig"
    line_end: str = "\r\n"
    quote_all: bool = False
    decimal_comma: bool = False
    trailing: bool = False
    """Whether empty columns and rows trail."""
    first_line: str = ""


STYLES = {
    "Excel, CSV UTF-8": Style(),
    "Excel, CSV UTF-8, where the comma is decimal": Style(separator=";", decimal_comma=True),
    "Excel, Unicode text": Style(separator="\t", encoding="utf-16"),
    "big-endian": Style(separator="\t", encoding="utf-16-be"),
    "Excel, used area wider than the table": Style(trailing=True),
    "LibreOffice": Style(encoding="utf-8", line_end="\n"),
    "LibreOffice, all text in quotes": Style(encoding="utf-8", line_end="\n", quote_all=True, separator=";"),
    "Google Sheets, TSV": Style(separator="\t", encoding="utf-8", line_end="\r\n"),
    "told its separator": Style(separator="|", first_line="sep=|\r\n"),
}


def read_rows(path: Path) -> Rows:
    """Read a file that this package wrote, as a program opens it."""
    return list(csv.reader(io.StringIO(path.read_bytes().decode("utf-8-sig"), newline="")))


def save_rows(path: Path, rows: Rows, style: Style | None = None) -> None:
    """Write rows in the style of a program."""
    style = style or Style()
    if style.trailing:
        rows = [[*row, "", ""] for row in rows] + [[""] * (len(rows[0]) + 2)] * 3
    text = ""
    quoting: Literal[0, 1] = csv.QUOTE_ALL if style.quote_all else csv.QUOTE_MINIMAL
    for row in rows:
        line = io.StringIO(newline="")
        # With this end of the line the writer puts a lone carriage return into quotes, as programs do.
        csv.writer(line, delimiter=style.separator, lineterminator="\r\n", quoting=quoting).writerow(row)
        text += line.getvalue().removesuffix("\r\n") + style.line_end
    mark = "\ufeff" if style.encoding == "utf-16-be" else ""
    path.write_bytes((mark + style.first_line + text).encode(style.encoding))


def fill(path: Path, label: Callable[[int, str], str], style: Style | None = None) -> None:
    """Open a file, write ``label(row, column)`` into every column behind the explanation, and save it."""
    header, *rows = read_rows(path)
    first = header.index("explanation") + 1
    comma = style is not None and style.decimal_comma
    for number, row in enumerate(rows):
        for at in range(first, len(header)):
            said = label(number, header[at])
            row[at] = said.replace(".", ",") if comma else said
    save_rows(path, [header, *rows], style)
