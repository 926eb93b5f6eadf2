"""The columns of verdicts: what they are called, and a reader of them that collects problems."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from metaeval.base.errors import DataError, Problem, nearest
from metaeval.base.records import FIRST, SECOND
from metaeval.data.hub import any_tables, in_workbook
from metaeval.data.tables.columns import number_column, text_column
from metaeval.data.tables.entries import Constant
from metaeval.data.tables.maps import kept
from metaeval.data.tables.nested import flattened

Texts: TypeAlias = NDArray[np.object_]  # one per row
KEYS = ("user_id", "item_id")
"""The columns that name what a pair was written for; a file may have no users."""
REPEAT = "repeat"
"""The column that numbers the times that a judge was asked the same."""
PLAYED = "played"
"""The column that numbers verdicts as they came one after the other."""
LENGTHS = ("length_first", "length_second")
"""The columns with the lengths of both texts."""
SHARE = "share"
"""The column with what ``first`` has of a verdict, 0 to 1, of verdicts that say how sure they are."""
LONG = (
    *(*KEYS, REPEAT, PLAYED, FIRST, SECOND, *LENGTHS, "aspect", "evaluator", "order"),
    *("winner", SHARE, "status", "call", "gold", "reason", "reply"),
)
"""The columns of verdicts; the last two of those read from replies: why there is none, and such a reply."""
ALL = "all"
"""The item, or the task, of verdicts that have none."""


def word(value: object) -> str:
    """Return a value as text to compare: stripped, without case."""
    return str(value).strip().casefold()


class VerdictReader:
    """Reads columns of a table as text, and collects their problems."""

    def __init__(
        self,
        path: Path,
        where: Mapping[str, Sequence[str]] = MappingProxyType({}),
        map_name: str = "",
        parts: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """Read a file, or those of a pattern such as ``ratings/*.jsonl``.

        Only rows with the values of ``where`` are kept, by which the map of that name says it; ``parts`` are
        those of a map of verdicts.
        """
        paths = sorted(path.parent.glob(path.name)) if "*" in path.name else [path]
        if not paths or not Path(in_workbook(paths[0])[0]).is_file():
            raise DataError(f"there is no file {path}")
        self.table = flattened(any_tables(paths))
        for column, words in where.items():
            self.table = kept(self.table, column, words, map_name)
        self.given = [str(c) for c in self.table.frame.columns]
        for column, pattern in parts.items():
            self.need(column, f"; it has {', '.join(self.given)}")
            found = self.table.frame[column].astype(str).str.extract(pattern).fillna("")
            if twice := [c for c in found if c in self.given]:
                raise DataError(f"the table has a column {twice[0]!r} already; name the group otherwise")
            self.table = replace(self.table, frame=self.table.frame.join(found))
            self.given += map(str, found.columns)
        self.problems: list[Problem] = []
        self._texts: dict[str, Texts] = {}

    def need(self, column: str, else_said: str) -> None:
        """Raise `DataError` if a column is not there."""
        if column not in self.given:
            message = f"there is no column {column!r}{nearest(column, self.given)}{else_said}"
            raise DataError([Problem(self.table.name, None, None, message)])

    def report(self, wrong: object, column: str | None, message: Callable[[int], str]) -> None:
        """Add a problem for each row that is wrong."""
        rows, n = np.flatnonzero(np.asarray(wrong, dtype=bool)).tolist(), len(self.table.frame)
        self.problems += [self.table.problem(i % n, column, message(i)) for i in rows]

    def text(self, column: str) -> Texts:
        """Return a column as text."""
        if column not in self._texts:
            self.need(column, f"; it has {', '.join(self.given)}")
            self._texts[column], found = text_column(self.table, column)
            self.problems += found
        return self._texts[column]

    def places(self, column: str | Constant) -> Texts:
        """Return the place of each row by a column of numbers, or of text such as dates, or by the row."""
        if isinstance(column, Constant):
            return self.named(column)
        said = pd.Series(self.text(column))
        self.report(said == "", column, lambda _: "is empty")
        numbers = pd.to_numeric(said, errors="coerce")
        place = (said if numbers.isna().any() else numbers).rank(method="dense").astype(int)
        return np.array(list(map(str, place)), dtype=object)

    def numbers(self, column: str) -> NDArray[np.float64]:
        """Return a column of numbers; NaN where it is empty."""
        self.need(column, f"; it has {', '.join(self.given)}")
        numbers, found = number_column(self.table, column)
        self.problems += found
        return numbers

    def named(self, columns: Sequence[str] | Constant, separator: str = "/", without: str = ALL) -> Texts:
        """Return what a verdict is about, or whose it is: columns joined, or what the table lacks."""
        if not isinstance(columns, Constant):
            return self.joined(columns, separator, without)
        rows = self.table.rows.astype(str) if columns.row else np.full(len(self.table.rows), columns.constant)
        return rows.astype(object)

    def joined(self, columns: Sequence[str], separator: str, without: str = "") -> Texts:
        """Join columns to one text, ``without`` any a given one; an empty cell is a problem."""
        if not columns:
            return np.full(len(self.table.frame), without, dtype=object)
        texts = [self.text(column) for column in columns]
        for column, values in zip(columns, texts, strict=True):
            self.report(values == "", column, lambda _: "is empty")
        return np.array([separator.join(row) for row in zip(*texts, strict=True)], dtype=object)

    def won(
        self, column: str, meanings: Mapping[str, str], sides: pd.DataFrame | None = None
    ) -> tuple[Texts, Any]:
        """Return what a name of ``sides`` or else a word means, and whether it is a word; or a problem."""
        given, known = self.text(column), ", ".join(w or "empty" for w in meanings)
        named = np.full(len(given), "", dtype=object)
        if sides is not None:
            named = np.where(given == sides[FIRST], FIRST, np.where(given == sides[SECOND], SECOND, ""))
        unknown = np.array([word(value) not in meanings for value in given], dtype=bool) & (named == "")
        self.report(unknown, column, lambda i: f"is {given[i]!r}; the map knows {known}")
        words = np.array([meanings.get(word(value), "") for value in given], dtype=object)
        return np.where(named == "", words, named), named == ""
