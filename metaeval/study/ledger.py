"""The ledger: what published studies that were made again say together, as sheets and as a page.

Beside the counts stands, for each published table, what it does not print: intervals, whether its first is
shown to be first, the ranks that it may have, and the replies that could not be read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from metaeval.base.counts import counted
from metaeval.base.errors import MetaevalError
from metaeval.engine.sheet import Column, Sheet
from metaeval.study.published import EQUAL, EXPLAINED, OPEN, Reproduced

_CELL_COLUMNS = (
    Column("study", "Study"),
    Column("table", "Table"),
    Column("cell", "Cell"),
    Column("published", "Published"),
    Column("made", "Made again"),
    Column("interval", "Interval"),
    Column("state", "State"),
    Column("why", "Why"),
)
_STUDY_COLUMNS = (
    Column("study", "Study"),
    Column("paper", "Paper"),
    Column("cells", "Cells", "count"),
    Column("equal", "Equal", "count"),
    Column("explained", "Explained", "count"),
    Column("open", "Open", "count"),
    Column("first_two", "Is its best better than its second?"),
    Column("seconds", "Seconds", "count"),
)
_TABLE_COLUMNS = (
    Column("study", "Study"),
    Column("table", "Table"),
    Column("cells", "Cells", "count"),
    Column("intervals", "Intervals"),
    Column("first", "Is the printed first shown to be first?"),
    Column("ranks", "Ranks of the first"),
    Column("unread", "Unread replies"),
)
_FIRST = (
    "The first has the highest printed number of a column of the table. It is shown to be first where its "
    "95 % interval overlaps that of no other, which is stricter than a test of each pair. Its ranks are "
    "those that the intervals allow, at the widest."
)


def cell_sheets(results: Path) -> list[Sheet]:
    """Return the cells of the studies that were made again into a folder; `MetaevalError` without any."""
    files = sorted(results.glob("*/cells.csv"))
    if not files:
        raise MetaevalError(f"{results} holds no study that was made again: metaeval reproduce all")
    cells = pd.concat([pd.read_csv(f, dtype=str, keep_default_na=False) for f in files], ignore_index=True)
    counts = [f"{int((cells['state'] == state).sum()):,} {state}" for state in (EQUAL, EXPLAINED, OPEN)]
    note = f"{counted(len(cells), 'published cell')} of {len(files)} studies made again: {'; '.join(counts)}."
    return [Sheet("cells", "The ledger", cells, _CELL_COLUMNS, (note,))]


def ledger_line(made: Sequence[Reproduced]) -> str:
    """Say how many cells came out again."""
    total = sum(len(one.cells) for one in made)
    equal, explained, other = (sum(one.count(state) for one in made) for state in (EQUAL, EXPLAINED, OPEN))
    return (
        f"{equal:,} of {counted(total, 'published cell')} {'is' if total == 1 else 'are'} equal to the "
        f"digits printed, {explained:,} {'differs' if explained == 1 else 'differ'} for a stated reason, and "
        f"{other:,} {'is' if other == 1 else 'are'} open."
    )


def ledger_page(made: Sequence[Reproduced], lacking: Sequence[str] = ()) -> str:
    """Return the ledger as a page of Markdown: all studies, and the cells of each."""
    studies, tables, *_ = ledger_sheets(made, lacking)
    again = (
        "`metaeval reproduce NAME --from FOLDER` makes any of them again; [how to add one](how-to/ledger.md)."
    )
    lines = ["# The ledger", "", ledger_line(made), *studies.notes, "", again, ""]
    lines += _markdown(studies.frame.assign(seconds=studies.frame["seconds"].map("{:.0f}".format)))
    lines += ["", "## What the tables do not print", "", *tables.notes, "", *_markdown(tables.frame)]
    for one in made:
        source = one.source
        at = f" at {source.commit}" if source.commit else ", pinned by the digests of its files"
        told = f"{source.paper}. <{source.repository}>{at}. Licence: {source.licence}."
        lines += ["", f"## {one.name}", "", f"{source.title}.", told, *filter(None, [source.notes])]
        lines += [f"Is its best better than its second? {one.first_two}."] if one.first_two else []
        lines += ["", *_markdown(one.cells[[c.name for c in _CELL_COLUMNS[1:]]].fillna(""))]
    return "\n".join([*lines, ""])


def _markdown(frame: pd.DataFrame) -> list[str]:
    """Return the lines of a table."""
    names = [str(c).replace("_", " ") for c in frame.columns]
    rows = [[str(v).replace("|", "\\|") for v in row] for row in frame.itertuples(index=False, name=None)]
    return [f"| {' | '.join(row)} |" for row in (names, ["---"] * len(names), *rows)]


def ledger_sheets(
    made: Sequence[Reproduced], lacking: Sequence[str] = (), *, open_only: bool = False
) -> list[Sheet]:
    """Return the studies with their counts, what they add to each table, and the cells.

    Cells that are equal are left out on wish.
    ``lacking`` are the names of studies that were not made, since their files or a library are not there.
    """
    rows = [
        {
            "study": one.name,
            "paper": one.source.paper,
            "cells": len(one.cells),
            "equal": one.count(EQUAL),
            "explained": one.count(EXPLAINED),
            "open": one.count(OPEN),
            "first_two": one.first_two,
            "seconds": one.seconds,
        }
        for one in made
    ]
    notes = []
    if lacking:
        notes.append(
            f"Not made, since their files or a library are not here: {', '.join(lacking)}. `metaeval data "
            "fetch NAME` gets files with a pinned address, --from FOLDER says where others are."
        )
    cells = pd.concat([one.cells for one in made], ignore_index=True)
    if open_only:
        cells = cells[cells["state"] != EQUAL]
    sheets = [Sheet("ledger", "The ledger", pd.DataFrame(rows), _STUDY_COLUMNS, tuple(notes))]
    added = [row for one in made for row in _added(one)]
    sheets.append(
        Sheet("tables", "What the tables do not print", pd.DataFrame(added), _TABLE_COLUMNS, (_FIRST,))
    )
    if len(cells):
        sheets.append(Sheet("cells", "Cells", cells.reset_index(drop=True), _CELL_COLUMNS, ()))
    return sheets


def _added(one: Reproduced) -> Iterator[dict[str, object]]:
    """Yield a row for each table of a study: what was made beside the numbers that the paper prints."""
    for table, cells in one.cells.groupby("table", sort=False):
        firsts = [found for _, series in cells.groupby("series") if (found := _first(series))]
        shown = sum(high == 1 for _, high, _ in firsts)
        name, worst, among = max(firsts, key=lambda first: first[1], default=("", 0, 0))
        unread = cells["unread"].max()
        yield {
            "study": one.name,
            "table": table,
            "cells": len(cells),
            "intervals": f"{cells['low'].notna().sum()} of {len(cells)}",
            "first": _said(shown, len(firsts), name),
            "ranks": f"1 to {worst} of {among}" if firsts else "",
            "unread": "" if np.isnan(unread) else f"{unread:.1%} at most" if unread else "none",
        }


def _first(series: pd.DataFrame) -> tuple[str, int, int] | None:
    """Return who has the highest printed number of a column, the last rank it may have, and of how many."""
    lacking = series[["low", "high"]].isna().to_numpy().any()
    if len(series) < 2 or series["about"].duplicated().any() or lacking:
        return None
    first = series.iloc[int(series["published"].astype(float).to_numpy().argmax())]
    return str(first["about"]), int((series["high"] >= first["low"]).sum()), len(series)


def _said(shown: int, columns: int, name: str) -> str:
    """Say in how many columns of a table the first is shown to be first; ``name`` is that of a single one."""
    if columns == 1:
        return f"{'yes' if shown else 'not shown'}: {name}"
    return f"in {shown} of {columns} columns" if columns else ""
