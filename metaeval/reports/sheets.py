"""Sheets → plain text, Markdown, CSV, LaTeX and HTML: every number in the form that its column names."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeAlias

import pandas as pd

from metaeval.base.formulas import to_csv
from metaeval.base.simulation import MARK
from metaeval.engine.sheet import NOTHING, Column, Mark, Sheet, columns, decimals_of, value_text
from metaeval.reports import escapes, latex, plain
from metaeval.reports.templates import template

_Escape: TypeAlias = "Callable[[str], str]"
_MARKDOWN: Mapping[Mark, str] = {"best": "**{}**", "second": "<u>{}</u>"}
_LATEX: Mapping[Mark, str] = {"best": r"\textbf{{{}}}", "second": r"\underline{{{}}}"}
_HTML: Mapping[Mark, str] = {"best": "<b>{}</b>", "second": "<u>{}</u>"}


def cells(
    sheet: Sheet,
    text: _Escape = str,
    number: _Escape = str,
    marks: Mapping[Mark, str] = MappingProxyType({}),
) -> list[list[str]]:
    """Return the printed cells of a sheet, with their intervals.

    Each value is escaped on its own, by ``text`` or ``number``, as its column holds; ``marks`` are put around
    marked values, which stand for the braces.
    """

    def cell(i: int, row: Mapping[Any, Any], column: Column) -> str:
        low, high = (row.get(name) for name in (column.low, column.high))
        decimals = decimals_of(column.form, row[column.name], low, high)

        def value(name: str) -> str:
            said = value_text(row[name], column.form, decimals)
            escaped = (text if is_text(column) else number)(said)
            mark = sheet.marks.get((i, name))
            return marks[mark].format(escaped) if mark and marks else escaped

        shown = " / ".join(value(name) for name in (column.name, *column.beside))
        ends = [value_text(end, column.form, decimals) for end in (low, high)]
        if ends == [NOTHING, NOTHING]:
            return shown
        return f"{shown} {number('[')}{number(ends[0])}, {number(ends[1])}{number(']')}"

    return [[cell(i, row, c) for c in sheet.columns] for i, row in enumerate(sheet.frame.to_dict("records"))]


def is_text(column: Column) -> bool:
    """Whether a column holds text, which is aligned to the left and may be wrapped."""
    return column.form in ("text", "code")


def _heads(sheet: Sheet) -> list[str]:
    """Return the words above each row; empty where the row before has the same."""
    if not sheet.heads:
        return [""] * len(sheet.frame)
    heads = sheet.frame[sheet.heads].tolist()
    return [head if i == 0 or head != heads[i - 1] else "" for i, head in enumerate(heads)]


def _sentences(sheet: Sheet) -> list[str]:
    return [*filter(None, [sheet.caption]), *sheet.notes]


_LEAST = ("count", "counts", "rank", "code", "usd", "seconds")  # forms of columns that go first
_NAMED = 3  # columns without room that are named


def sheet_to_text(sheet: Sheet) -> str:
    """Return a title, aligned columns that fit the terminal, and the notes."""
    width, body = plain.room(), cells(sheet, marks=plain.MARKS)
    parts = [plain.prose(said, width) for said in (sheet.title, sheet.simulated.warning) if said]
    heads = sheet.frame[sheet.heads].tolist() if sheet.heads else [""] * len(body)

    kept = [*range(len(sheet.columns))]

    def table() -> str:
        some, rows = [sheet.columns[j] for j in kept], [[row[j] for j in kept] for row in body]
        return plain.table([c.title for c in some], rows, [is_text(c) for c in some], heads, width)

    text, fit, cut = table(), plain.fitted.get(), list[str]()
    if fit and "\n\n" in text and any(c.beside for c in sheet.columns):
        alone = replace(sheet, columns=tuple(c._replace(beside=()) for c in sheet.columns))
        body, cut = cells(alone, marks=plain.MARKS), ["further values of a cell"]
        text = table()
    for j in _droppable(sheet.columns, body) if fit else ():
        if "\n\n" in text:  # it goes on below
            kept.remove(j)
            text = table()
    missing = cut + [c.title for j, c in enumerate(sheet.columns) if j not in kept]
    if "\n\n" in text and fit:
        body = [[text.partition(" [")[0] for text in row] for row in body]
        text, missing = table(), ["intervals", *missing]
    parts.append(text)
    if missing:
        named = "; ".join(missing[:_NAMED]) + f" and {len(missing) - _NAMED} more" * (len(missing) > _NAMED)
        parts.append(plain.prose(f"No room for {named}: --wide shows all.", width))
    if sentences := _sentences(sheet):
        parts.append(plain.prose(" ".join(sentences), width))
    return "\n\n".join(parts) + "\n"


def _droppable(columns: Sequence[Column], body: Sequence[Sequence[str]]) -> list[int]:
    """Return the columns that a narrow terminal can do without, in the order in which they go.

    Empty ones, counts and costs go first, then numbers, then words. Names of rows and one number stay.
    """
    titles, texts = [c.title for c in columns], [is_text(c) for c in columns]
    cells_of = [[row[j] for row in body] for j in range(len(columns))]

    def need(j: int) -> int:
        # A title that comes again, such as Cluster, says nothing without the column before it.
        idle = titles.count(titles[j]) > 1 or {*cells_of[j]} <= {"", NOTHING}
        return 0 if idle or columns[j].form in _LEAST else 1 + texts[j]

    stay = {*plain.keys_of(cells_of, texts), *(j for j, c in enumerate(columns) if c.keep)}
    numbers = [j for j, text in enumerate(texts) if not text]
    stay |= {max(numbers, key=need)} if numbers and not stay.intersection(numbers) else set()
    return sorted({*range(len(columns))} - stay, key=lambda j: (need(j), -j))


def sheet_to_markdown(sheet: Sheet) -> str:
    """Return a section with a table as GitHub shows it, and the notes below."""

    def line(row: Sequence[str]) -> str:
        return f"| {' | '.join(row)} |"

    rows = [
        line([escapes.markdown(c.title) for c in sheet.columns]),
        line([":---" if is_text(c) else "---:" for c in sheet.columns]),
    ]
    # Two dollars in a line would make a formula; brackets and "< 0.001" do no harm.
    body = cells(sheet, escapes.markdown, lambda text: text.replace("$", r"\$"), _MARKDOWN)
    for head, row in zip(_heads(sheet), body, strict=True):
        rows += [line([f"*{escapes.markdown(head)}*", *[""] * (len(row) - 1)])] if head else []
        rows.append(line(row))
    parts = [f"## {escapes.markdown(sheet.title)}"]
    if sheet.simulated:
        parts.append(f"> **{sheet.simulated.loud}** {escapes.markdown(sheet.simulated.sentence)}".rstrip())
    parts.append("\n".join(rows))
    if said := _sentences(sheet):
        parts.append(" ".join(map(escapes.markdown, said)))
    return "\n\n".join(parts) + "\n"


def sheet_to_csv(sheet: Sheet) -> str:
    """Return all columns of the frame with every digit; a missing value is empty."""
    unsaid = sheet.simulated and "simulated" not in sheet.frame
    frame, simulated = sheet.frame, sheet.simulated
    if unsaid and "evaluator" in frame:
        frame = frame.assign(simulated=[simulated.among([name]).what for name in frame["evaluator"]])
    elif unsaid:
        frame = frame.assign(simulated=simulated.what)
    return to_csv(frame)


def _latex(sheets: Sequence[Sheet], of: str = "") -> str:
    labels = latex.labels(of, [sheet.name for sheet in sheets])
    tables = [line for of_one in zip(sheets, labels, strict=True) for line in latex_tables(*of_one)]
    return latex.paper([*latex.HEAD, *tables])


def _latex_number(text: str) -> str:
    return latex.escaped(text) if text == NOTHING else latex.escaped(text).replace("-", "$-$")


def latex_tables(
    sheet: Sheet, label: str, more: Sequence[str] = (), *, comment: bool = True
) -> Iterator[str]:
    """Yield the lines of ``table*`` environments; one that is too long or too wide goes on in further ones.

    Sentences ``more`` come after the notes. A ``comment`` above says what is simulated.
    """
    texts, titles = [is_text(c) for c in sheet.columns], [c.title for c in sheet.columns]
    numbers = cells(sheet, number=_latex_number, marks=_LATEX)
    heads = sheet.frame[sheet.heads].tolist() if sheet.heads else [""] * len(numbers)
    title = sheet.title.rstrip(".")
    told = [sheet.simulated.sentence] if sheet.simulated else []
    caption, notes = sheet.caption or f"{title}.", " ".join([*sheet.notes, *told, *more])
    if sheet.simulated and comment:
        yield f"% {sheet.simulated.loud}"
    said = len(caption + notes)
    for i, body in enumerate(latex.bodies(titles, cells(sheet), numbers, texts, heads=heads, said=said)):
        yield from latex.environment(
            caption=f"{title} (continued)." if i else caption,
            label=label,
            body=body,
            notes="" if i else notes,
            continued=i > 0,
            simulated=sheet.simulated,
        )


def sheet_to_html(sheet: Sheet) -> str:
    """Return a section with a table, to be put into a page."""
    from markupsafe import Markup, escape

    rows = [[Markup(c) for c in row] for row in cells(sheet, escape, escape, _HTML)]  # noqa: S704 - escaped
    name = "leaderboard.html" if sheet.heads else "sheet.html"
    listed = list(zip(_heads(sheet), rows, strict=True))
    return template(name).render(sheet=sheet, rows=listed, sentences=_sentences(sheet), is_text=is_text)


def _told_once(sheets: Sequence[Sheet]) -> list[Sheet]:
    """Return sheets of which the first simulated one says what is, and the others only that something is."""
    first = next((i for i, sheet in enumerate(sheets) if sheet.simulated), 0)
    return [replace(s, simulated=replace(s.simulated, told=i > first)) for i, s in enumerate(sheets)]


def to_page(sheets: Sequence[Sheet]) -> str:
    """Return one HTML page with all sheets, which needs no other file."""
    sections = [sheet_to_html(sheet) for sheet in _told_once(sheets)]
    return template("sheets_page.html").render(title=sheets[0].title, sections=sections)


SHEET_FORMATS: dict[str, Callable[[Sheet], str]] = {
    "txt": sheet_to_text,
    "md": sheet_to_markdown,
    "csv": sheet_to_csv,
    "tex": lambda sheet: _latex([sheet]),
    "html": sheet_to_html,
}
"""The suffix of a file → what makes its content from a `Sheet`."""


def render(sheets: Sequence[Sheet], suffix: str, of: str = "") -> str:
    """Return sheets in the format of a suffix, one after the other, to be printed.

    What they are ``of`` tells their LaTeX labels from those of other runs and commands.
    """
    if suffix == "tex":
        return _latex(sheets, of)
    return "\n".join(SHEET_FORMATS[suffix](sheet) for sheet in _told_once(sheets))


def files(sheets: Sequence[Sheet], path: Path, of: str = "") -> dict[Path, str]:
    """Return what to write to which file: all sheets to ``path``; of several as CSV, each to its own.

    The suffix of ``path`` is one of those of `SHEET_FORMATS`.
    """
    suffix = path.suffix.lower().removeprefix(".")
    if suffix == "html":
        return {path: to_page(sheets)}
    if suffix == "csv" and len(sheets) > 1:
        beside = {s.name: path.with_name(f"{path.stem}-{s.name}{path.suffix}") for s in sheets}
        return {path if s.principal else beside[s.name]: sheet_to_csv(s) for s in sheets}
    return {path: render(sheets, suffix, of)}


_COSTS = (
    Column("label", "Judge"),
    Column("prompt", "prompt"),
    Column("texts", "units", "count"),
    Column("lost", "lost calls", "share"),
    Column("usd_per_text", "USD per unit", "usd"),
    Column("tokens_per_text", "tokens per unit", "count"),
    Column("reasoning_tokens_per_text", "reasoning tokens per unit", "count"),
    Column("seconds_per_text", "time per unit", "seconds"),
    *columns("share", unread="unread", unread_first="unread, in order", unread_second="unread, swapped"),
    Column("usd", "USD", "usd"),
)
_COSTS_ABOUT = (
    "The cost of a unit covers all aspects, in one call or several, and repeated attempts. Calls without a "
    "reply cost nothing and are left out."
)
_COSTS_UNREAD = (
    "Tokens include reasoning tokens. Unread: replies that came and cannot be read; in order: with the first "
    "of two shown first. — means unknown; for a price, set `judging.prices`."
)


def cost_table(costs: pd.DataFrame) -> str:
    """Return a table with a row per judge, its heading and its caption."""
    both = costs[costs["shared"] > 0]
    shared = [
        f"{share:.1%} of {name} (alone, it would cost {value_text(usd, 'usd')})"
        for name, share, usd in zip(both["evaluator"], both["shared"], both["usd_alone"], strict=True)
    ]
    if shared:
        shared = [f"Calls that several judges make are paid once, in equal parts: {', '.join(shared)}."]
    frame = costs.assign(label=costs["evaluator"] + costs["simulated"].map({True: MARK, False: ""}))
    sheet = Sheet("costs", "What the judges cost", frame, _COSTS, (_COSTS_ABOUT, *shared, _COSTS_UNREAD))
    return sheet_to_markdown(sheet)[1:]  # a heading of the first level
