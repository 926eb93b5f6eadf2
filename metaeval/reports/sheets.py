"""Sheets of analyses → Markdown, CSV, LaTeX and HTML: every number in the form that its column names."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from metaeval.base.formulas import to_csv
from metaeval.reports import escapes, latex, words
from metaeval.reports.templates import template

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from metaeval.engine.sheet import Column, Form, Sheet


def value_text(value: Any, form: Form) -> str:  # noqa: ANN401 - whatever the cell of a frame holds
    """Return a value as it is printed; `words.NOTHING` for one that is missing."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return words.NOTHING
    match form:
        case "text":
            text = {"True": "yes", "False": "no"}.get(str(value), str(value))
        case "count":
            text = f"{round(value):,}"
        case "hundred":
            text = f"{100 * value:.2f}"
        case "share":
            text = f"{100 * value:.1f} %"
        case "number":
            text = _four_digits(value)
        case "hundredths":
            text = f"{value:.2f}"
        case "decimal":
            text = f"{value:.4f}"
        case "p":
            text = "< 0.001" if value < 0.001 else f"{value:.3f}"
        case "usd":
            text = _dollars(value)
    # A minus before zero alone says nothing.
    return text.lstrip("-") if form != "text" and not any(c in "123456789∞" for c in text) else text


def _four_digits(value: float) -> str:
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    if value == 0:
        return "0"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:#.4g}".rstrip(".")


def _dollars(value: float) -> str:
    """Return four digits of a price, and cents at least; never an exponent."""
    sign, size = "-" if value < 0 else "", abs(value)
    if size >= 1000 or math.isinf(size):
        return f"{sign}${_four_digits(size)}"
    decimals = 2 if size == 0 else max(2, 3 - math.floor(math.log10(size)))
    whole, _, cents = f"{size:.{decimals}f}".partition(".")
    return f"{sign}${whole}.{cents.rstrip('0').ljust(2, '0')}"


def cell(row: Mapping[Any, Any], column: Column, escape: Callable[[str], str]) -> str:
    """Return a cell with its interval, if the column has one; each number escaped on its own."""
    value = value_text(row[column.name], column.form)
    if not (column.low and column.high):
        return escape(value)
    low, high = (value_text(row[name], column.form) for name in (column.low, column.high))
    if low == high == words.NOTHING:
        return escape(value)
    return f"{escape(value)} {escape('[')}{escape(low)}, {escape(high)}{escape(']')}"


def _rows(sheet: Sheet, escape: Callable[[Column], Callable[[str], str]]) -> list[list[str]]:
    escapes = [escape(c) for c in sheet.columns]
    return [
        [cell(row, c, e) for c, e in zip(sheet.columns, escapes, strict=True)]
        for row in sheet.frame.to_dict("records")
    ]


def _is_text(column: Column) -> bool:
    return column.form == "text"


def sheet_to_markdown(sheet: Sheet) -> str:
    """Return a section with a table as GitHub shows it, and the notes below."""

    def line(cells: Sequence[str]) -> str:
        return f"| {' | '.join(cells)} |"

    def escape(column: Column) -> Callable[[str], str]:
        # Two dollars in a line would make a formula; brackets and "< 0.001" do no harm.
        return escapes.markdown if _is_text(column) else lambda text: text.replace("$", r"\$")

    table = [
        line([escapes.markdown(c.title) for c in sheet.columns]),
        line([":---" if _is_text(c) else "---:" for c in sheet.columns]),
        *map(line, _rows(sheet, escape)),
    ]
    parts = [f"## {escapes.markdown(sheet.title)}"]
    if sheet.simulated:
        parts.append(f"> **{sheet.simulated.loud}** {escapes.markdown(sheet.simulated.sentence)}")
    parts.append("\n".join(table))
    if sheet.notes:
        parts.append(" ".join(map(escapes.markdown, sheet.notes)))
    return "\n\n".join(parts) + "\n"


def to_markdown(sheets: Sequence[Sheet]) -> str:
    """Return several sheets in one text."""
    return "\n".join(map(sheet_to_markdown, sheets))


def sheet_to_csv(sheet: Sheet) -> str:
    """Return all columns of the frame with every digit; a missing value is empty."""
    unsaid = sheet.simulated and "simulated" not in sheet.frame
    frame = sheet.frame.assign(simulated=_simulated(sheet)) if unsaid else sheet.frame
    return to_csv(frame)


def _simulated(sheet: Sheet) -> list[str]:
    """Return what is simulated of each row: of one on an evaluator, the data or that evaluator."""
    frame, simulated = sheet.frame, sheet.simulated
    if "evaluator" not in frame:
        return [simulated.what] * len(frame)
    return [simulated.among([evaluator]).what for evaluator in frame["evaluator"]]


def sheet_to_latex(sheet: Sheet) -> str:
    """Return ``table*`` environments with booktabs rules; a long table goes on in further ones."""
    return _latex([sheet])


def _latex(sheets: Sequence[Sheet], of: str = "") -> str:
    return "\n".join([*latex.HEAD, *(line for sheet in sheets for line in latex_tables(sheet, of))]) + "\n"


def _latex_number(text: str) -> str:
    return latex.escaped(text) if text == words.NOTHING else latex.escaped(text).replace("-", "$-$")


def latex_tables(sheet: Sheet, of: str = "") -> Iterator[str]:
    """Yield the lines of ``table*`` environments; a long table goes on in further ones.

    Labels begin with ``of``, the run or study that the sheet is about.
    """
    rows = _rows(sheet, lambda c: latex.escaped if _is_text(c) else _latex_number)
    head = " & ".join(latex.escaped(c.title) for c in sheet.columns)
    title = sheet.title.rstrip(".")
    told = [sheet.simulated.sentence] if sheet.simulated else []
    if sheet.simulated:
        yield f"% {sheet.simulated.loud}"
    step = latex.rows_a_table(len(rows))
    for first in range(0, max(1, len(rows)), step):
        page = rows[first : first + step]
        yield from latex.environment(
            caption=f"{title} (continued)." if first else f"{title}.",
            label=latex.label_of(of, sheet.name),
            alignment="".join("l" if _is_text(c) else "r" for c in sheet.columns),
            body=[
                rf"    {line} \\" if line else r"    \midrule" for line in (head, "", *map(" & ".join, page))
            ],
            notes="" if first else " ".join([*sheet.notes, *told]),
            continued=first > 0,
            simulated=sheet.simulated,
        )


def sheet_to_html(sheet: Sheet) -> str:
    """Return a section with a table, to be put into a page."""
    rows = _rows(sheet, lambda _: str)  # the template escapes
    return template("sheet.html").render(sheet=sheet, rows=rows)


def to_page(sheets: Sequence[Sheet]) -> str:
    """Return one HTML page with all sheets, which needs no other file."""
    sections = [sheet_to_html(sheet) for sheet in sheets]
    return template("sheets_page.html").render(title=sheets[0].title, sections=sections)


SHEET_FORMATS: dict[str, Callable[[Sheet], str]] = {
    "md": sheet_to_markdown,
    "csv": sheet_to_csv,
    "tex": sheet_to_latex,
    "html": sheet_to_html,
}
"""The suffix of a file → what makes its content from a `Sheet`."""


def render(sheets: Sequence[Sheet], suffix: str, of: str = "") -> str:
    """Return sheets in the format of a suffix, one after the other, to be printed.

    What they are ``of`` tells their LaTeX labels from those of other runs and commands.
    """
    if suffix == "tex":
        return _latex(sheets, of)
    return "\n".join(SHEET_FORMATS[suffix](sheet) for sheet in sheets)


def files(sheets: Sequence[Sheet], path: Path, of: str = "") -> dict[Path, str]:
    """Return what to write to which file: all sheets to ``path``; of several as CSV, each to its own.

    The suffix of ``path`` is one of those of `SHEET_FORMATS`.
    """
    suffix = path.suffix.lower().removeprefix(".")
    if suffix == "html":
        return {path: to_page(sheets)}
    if suffix == "csv" and len(sheets) > 1:
        return {path.with_name(f"{path.stem}-{s.name}{path.suffix}"): sheet_to_csv(s) for s in sheets}
    return {path: render(sheets, suffix, of)}
