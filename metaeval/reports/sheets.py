"""Sheets → plain text, Markdown, CSV, LaTeX and HTML: every number in the form that its column names."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pandas as pd
from rich.cells import cell_len

from metaeval.base.formulas import to_csv
from metaeval.base.simulation import MARK
from metaeval.engine.sheet import MARKS_SAID, NOTHING, Column, Mark, Sheet, columns, value_text
from metaeval.reports import template
from metaeval.reports.cells import (
    Part,
    cells,
    coloured,
    fitted,
    fold,
    heads_of,
    is_numeric,
    is_text,
    keys_of,
    stacked,
    wrapped,
)
from metaeval.reports.latex import paper

LOST = "LOST REPLIES."
"""What stands before the sentences on calls without a reply, and on many replies that were not read."""
_TEXT: Mapping[Mark, str] = {"best": "{}*", "second": "{}+"}
_TEXT_MARKS_SAID = "The best value has *, the second has +"
_MARKDOWN: Mapping[Mark, str] = {"best": "**{}**", "second": "<u>{}</u>"}
_HTML: Mapping[Mark, str] = {"best": "<b>{}</b>", "second": "<u>{}</u>"}
_GAP = 2  # characters between two columns of text
_LEAST_WIDTH = 40  # characters; a narrower terminal wraps the lines itself
_LEAST = ("count", "counts", "rank", "code", "usd", "seconds")  # forms of columns that go first
_NAMED = 3  # columns without room that are named
_LINES, _LEAST_ROWS = 50, 5  # that a terminal is shown, over all tables; of its first table
_TITLE, _WARNING, _QUIET = "bold", "bold yellow", "dim"
_MARKED = {re.compile(r"-?[\d.]+\*"): "bold green", re.compile(r"-?[\d.]+\+"): "underline"}
_SPECIAL = re.compile(r"([\\`*_{}\[\]|~#$])")
_ENTITY = re.compile(r"&(?=[#\w])")
_TAG = re.compile(r"<(?=[A-Za-z/!?])")


def room() -> int:
    """Return the width of the terminal, or ``COLUMNS``; 80 if the output goes elsewhere."""
    return max(_LEAST_WIDTH, shutil.get_terminal_size().columns)


def prose(text: str, width: int) -> str:
    """Return sentences in lines of a width."""
    sentences = text.replace(MARKS_SAID, _TEXT_MARKS_SAID)
    return "\n".join(wrapped(sentences, width, cell_len, words=True))


def look(text: str, style: str) -> str:
    """Return lines in a style of rich, such as ``bold red``, on a terminal; elsewhere as they are."""
    if not coloured.get():
        return text
    from rich.style import Style

    made = Style.parse(style)
    return "\n".join(made.render(line) if line else line for line in text.split("\n"))


def sheets_to_text(sheets: Sequence[Sheet]) -> str:
    """Return sheets below each other; a terminal is shown the first ones, as much as a screen or two hold."""
    if not fitted.get():
        return "\n".join(map(sheet_to_text, sheets))
    shown, others, left = list[str](), list[str](), _LINES
    for sheet in sheets:
        rows = len(sheet.frame)
        text = sheet_to_text(sheet)
        while not shown and (over := text.count("\n") - left) > 0 and rows > _LEAST_ROWS:
            rows = max(_LEAST_ROWS, rows - max(1, over * rows // text.count("\n")))
            text = sheet_to_text(sheet, rows)
        if shown and text.count("\n") > left:
            others.append(sheet.title)
        else:
            shown.append(text)
            left -= text.count("\n") + 1
    if others:
        shown.append(
            look(prose(f"Further tables: {'; '.join(others)}. --wide shows all.", room()), _QUIET) + "\n"
        )
    return "\n".join(shown)


def sheet_to_text(sheet: Sheet, most: int | None = None) -> str:
    """Return a title, aligned columns that fit the terminal, about ``most`` rows or all, and the notes."""
    width, fit = room(), fitted.get()
    columns, every = sheet.columns, cells(sheet, marks=_TEXT)
    said = ((sheet.title, _TITLE), (sheet.told.warning, _WARNING))
    parts = [look(prose(sentence, width), style) for sentence, style in said if sentence]
    kept, missing, heads = [*range(len(columns))], list[str](), heads_of(sheet)
    rows = _first(heads, most)

    def table() -> str:
        body = [[every[i][j] for j in kept] for i in rows]
        return _table([columns[j] for j in kept], body, [heads[i] for i in rows], width)

    text = table()
    if fit and "\n\n" in text and any(c.beside for c in columns):  # it goes on below
        every = cells(replace(sheet, columns=tuple(c._replace(beside=()) for c in columns)), marks=_TEXT)
        text, missing = table(), ["further values of a cell"]
    above = _above(columns, every) if fit and not sheet.heads and "\n\n" in text else None
    if above is not None:
        kept.remove(above)
        heads = [row[above] for row in every]
        rows = _first(heads, most)
        text = table()
    for j in _droppable(columns, every) if fit else ():
        if j in kept and "\n\n" in text:
            kept.remove(j)
            text = table()
    missing += [c.title for j, c in enumerate(columns) if j not in (*kept, above)]
    if fit and "\n\n" in text:
        every = [[cell.partition(" [")[0] for cell in row] for row in every]
        text, missing = table(), ["intervals", *missing]
    for mark, style in _MARKED.items() if sheet.marks and coloured.get() else ():
        text = mark.sub(look(r"\g<0>", style), text)
    parts.append(text)
    named = "; ".join(missing[:_NAMED]) + f" and {len(missing) - _NAMED} more" * (len(missing) > _NAMED)
    further = f"{len(every) - len(rows)} of {len(every)} rows" * (len(rows) < len(every))
    if lacking := [*filter(None, [named, further])]:
        parts.append(
            look(prose(f"No room for {', nor for '.join(lacking)}: --wide shows all.", width), _QUIET)
        )
    if sentences := _sentences(sheet):
        parts.append(look(prose(" ".join(sentences), width), _QUIET))
    return "\n\n".join(parts) + "\n"


def _first(heads: Sequence[str], most: int | None) -> list[int]:
    """Return about so many rows, as many below each head; all, if ``most`` is left out."""
    if most is None:
        return [*range(len(heads))]
    each = max(1, most // len({*heads}))
    return [i for i, head in enumerate(heads) if heads[:i].count(head) < each]


def _above(columns: Sequence[Column], body: Sequence[Sequence[str]]) -> int | None:
    """Return the column of words whose rows stand together, each value once, that may stand above them."""
    values = [[row[j] for row in body] for j in range(len(columns))]
    keys = keys_of(values, [*map(is_text, columns)])
    for j in keys if len(keys) > 1 else ():
        runs = sum(a != b for a, b in pairwise(["", *values[j]]))
        if runs == len({*values[j]}) and 3 * runs <= len(body):
            return j
    return None


def _table(columns: Sequence[Column], rows: Sequence[Sequence[str]], heads: Sequence[str], width: int) -> str:
    """Return an aligned table; columns that do not fit go on below, with the names of the rows again."""
    titles, texts = [c.title for c in columns], [is_text(c) for c in columns]
    values = [[row[j] for row in rows] for j in range(len(columns))]
    left = [text and not is_numeric(column) for text, column in zip(texts, values, strict=True)]
    values = [column if text else _aligned(column) for text, column in zip(left, values, strict=True)]
    body = [*zip(*values, strict=True)]
    indent = "  " if any(heads) else ""
    blocks = []
    for part in fold(titles, body, left, room=width - len(indent), measure=cell_len, gap=_GAP):
        lines = [*part.title_lines(titles, cell_len), tuple("-" * int(w) for w in part.widths)]
        block = [look(_line(line, part, left, indent), _QUIET) for line in lines]
        head = ""
        for i in part.rows:
            if heads[i] and heads[i] != head:
                head = heads[i]
                block.append(look(head, _TITLE))
            lines = stacked(part.wrapped_row(body[i], left, cell_len))
            block += [_line(line, part, left, indent) for line in lines]
        blocks.append("\n".join(block))
    return "\n\n".join(blocks)


def _line(texts: Sequence[str], part: Part, left: Sequence[bool], indent: str) -> str:
    """Return texts that stand side by side, filled up to the widths of their columns."""
    filled = []
    for text, j, width in zip(texts, part.columns, part.widths, strict=True):
        spaces = " " * (int(width) - cell_len(text))
        filled.append(text + spaces if left[j] else spaces + text)
    return (indent + (" " * _GAP).join(filled)).rstrip()


def _aligned(column: Sequence[str]) -> list[str]:
    """Return cells of one width, in which the numbers are aligned, and the intervals behind them."""
    signs = tuple(mark.format("") for mark in _TEXT.values())
    cells = [text.partition(" [") for text in column]
    parts = [number.split(" / ") for number, _, _ in cells]
    if any(part.endswith(signs) for row in parts for part in row):
        # A mark takes the place of the space behind a number.
        parts = [[part if part.endswith(signs) else f"{part} " for part in row] for row in parts]
        slash = "/ "
    else:
        slash = " / "
    most = max(map(len, parts), default=0)
    wide = [max(len(row[i]) for row in parts if i < len(row)) for i in range(most)]
    texts = [
        slash.join(part.rjust(w) for part, w in zip(row, wide, strict=False)) + opening + interval
        for row, (_, opening, interval) in zip(parts, cells, strict=True)
    ]
    return [text.ljust(max(map(len, texts))) for text in texts]


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

    stay = {*keys_of(cells_of, texts), *(j for j, c in enumerate(columns) if c.keep)}
    numbers = [j for j, text in enumerate(texts) if not text]
    stay |= {max(numbers, key=need)} if numbers and not stay.intersection(numbers) else set()
    return sorted({*range(len(columns))} - stay, key=lambda j: (need(j), -j))


def markdown(text: str) -> str:
    """Return text that Markdown shows as it is, in a table too."""
    shown = _ENTITY.sub("&amp;", " ".join(text.split()))
    if _TAG.search(shown) or shown.startswith(">"):
        shown = shown.replace("<", "&lt;").replace(">", "&gt;")
    return _SPECIAL.sub(r"\\\1", shown)


def notice(lost: Sequence[str]) -> str:
    """Return what a Markdown text begins with if replies were lost; empty if none were."""
    return f"> **{LOST}** {' '.join(map(markdown, lost))}\n\n" if lost else ""


def _sentences(sheet: Sheet) -> list[str]:
    return [*filter(None, [sheet.caption]), *sheet.notes]


def _changing(heads: Sequence[str]) -> list[str]:
    """Return the words above each row; empty where the row before has the same."""
    return [head if i == 0 or head != heads[i - 1] else "" for i, head in enumerate(heads)]


def sheet_to_markdown(sheet: Sheet) -> str:
    """Return a section with a table as GitHub shows it, and the notes below."""

    def line(row: Sequence[str]) -> str:
        return f"| {' | '.join(row)} |"

    rows = [
        line([markdown(c.title) for c in sheet.columns]),
        line([":---" if is_text(c) else "---:" for c in sheet.columns]),
    ]
    # Two dollars in a line would make a formula; brackets and "< 0.001" do no harm.
    body = cells(sheet, markdown, lambda text: text.replace("$", r"\$"), _MARKDOWN)
    for head, row in zip(_changing(heads_of(sheet)), body, strict=True):
        rows += [line([f"*{markdown(head)}*", *[""] * (len(row) - 1)])] if head else []
        rows.append(line(row))
    parts = [f"## {markdown(sheet.title)}"]
    if sheet.simulated:
        parts.append(f"> **{sheet.simulated.loud}** {markdown(sheet.told.sentence)}".rstrip())
    parts.append("\n".join(rows))
    if sentences := _sentences(sheet):
        parts.append(" ".join(map(markdown, sentences)))
    return "\n\n".join(parts) + "\n"


def sheet_to_csv(sheet: Sheet) -> str:
    """Return all columns of the frame with every digit; a missing value is empty."""
    frame, simulated = sheet.frame, sheet.simulated
    if "evaluator" in frame and "label" not in frame and {*sheet.names} - {*sheet.names.values()}:
        frame = frame.assign(label=[sheet.names.get(name, name) for name in frame["evaluator"]])
    unmarked = simulated and "simulated" not in frame
    if unmarked and "evaluator" in frame:
        frame = frame.assign(simulated=[simulated.among([name]).what for name in frame["evaluator"]])
    elif unmarked:
        frame = frame.assign(simulated=simulated.what)
    return to_csv(frame)


def sheet_to_html(sheet: Sheet) -> str:
    """Return a section with a table, to be put into a page."""
    from markupsafe import Markup, escape

    rows = [[Markup(c) for c in row] for row in cells(sheet, escape, escape, _HTML)]  # noqa: S704 - escaped
    name = "leaderboard.html" if sheet.heads else "sheet.html"
    listed = list(zip(_changing(heads_of(sheet)), rows, strict=True))
    return template(name).render(sheet=sheet, rows=listed, sentences=_sentences(sheet), is_text=is_text)


def _warned_once(sheets: Sequence[Sheet]) -> list[Sheet]:
    """Return sheets of which the first simulated one says what is, and the others only that something is."""
    first = next((i for i, sheet in enumerate(sheets) if sheet.simulated), 0)
    return [replace(s, simulated=replace(s.simulated, told=i > first)) for i, s in enumerate(sheets)]


def to_page(sheets: Sequence[Sheet]) -> str:
    """Return one HTML page with all sheets, which needs no other file."""
    sections = [sheet_to_html(sheet) for sheet in _warned_once(sheets)]
    return template("sheets_page.html").render(title=sheets[0].title, sections=sections)


SHEET_FORMATS: dict[str, Callable[[Sheet], str]] = {
    "txt": sheet_to_text,
    "md": sheet_to_markdown,
    "csv": sheet_to_csv,
    "tex": lambda sheet: paper([sheet]),
    "html": sheet_to_html,
}
"""The suffix of a file → what makes its content from a `Sheet`."""


def render(sheets: Sequence[Sheet], suffix: str, of: str = "", first: Sequence[str] = ()) -> str:
    """Return sheets in the format of a suffix, one after the other, to be printed.

    What they are ``of`` tells their LaTeX labels from those of other runs and commands. Text begins with the
    paragraphs that are ``first``.
    """
    if suffix == "tex":
        return paper(sheets, of)
    above = {"txt": lambda line: prose(line, room()), "md": markdown}.get(suffix)
    paragraphs = [f"{above(line)}\n" for line in first] if above else []
    if suffix == "txt":
        return "\n".join([*paragraphs, sheets_to_text(_warned_once(sheets))])
    return "\n".join([*paragraphs, *(SHEET_FORMATS[suffix](sheet) for sheet in _warned_once(sheets))])


def files(sheets: Sequence[Sheet], path: Path, of: str = "", first: Sequence[str] = ()) -> dict[Path, str]:
    """Return what to write to which file: all sheets to ``path``; of several as CSV, each to its own.

    The suffix of ``path`` is one of those of `SHEET_FORMATS`.
    """
    suffix = path.suffix.lower().removeprefix(".")
    if suffix == "html":
        return {path: to_page(sheets)}
    if suffix == "csv" and len(sheets) > 1:
        beside = {s.name: path.with_name(f"{path.stem}-{s.name}{path.suffix}") for s in sheets}
        return {path if s.principal else beside[s.name]: sheet_to_csv(s) for s in sheets}
    return {path: render(sheets, suffix, of, first)}


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
