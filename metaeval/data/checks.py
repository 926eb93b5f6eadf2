"""What is checked of the tables of a data set, whatever its kind; problems name file, row and column.

All checks work on whole columns: only a row that is wrong costs Python time.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from metaeval.base.errors import Problem, exact, nearest, shown, unknown
from metaeval.base.frames import row_text
from metaeval.base.keys import noun
from metaeval.base.records import Scale
from metaeval.data.tables.columns import number_column, text_column, time_column
from metaeval.data.tables.table import Table


class DataColumn(NamedTuple):
    """What a column of a table of a data set must hold."""

    number: bool = False
    needed: bool = True
    """Whether no table may lack it."""
    filled: bool = True
    """Whether no cell may be empty, where a table has it."""
    words: Sequence[str] = ()
    """All that a text may be, beside empty; anything, if left out."""
    wrong: Callable[[NDArray[np.float64]], NDArray[np.bool_]] | None = None
    """Says which numbers are wrong."""
    says: str = ""
    """What is said of one, such as ``the weight {} is not above 0``."""
    time: bool = False
    """Whether a number is a time, which may be written as a date."""


NAME, NUMBER = DataColumn(), DataColumn(number=True)
FURTHER = DataColumn(number=True, needed=False, filled=False)
"""A number that need not be known."""


class DataTable(NamedTuple):
    """The columns of a table of a data set, in order; it may have further ones, which hold texts."""

    columns: Mapping[str, DataColumn]
    row: str = ""
    """What a row is, such as "the item", if no two may be about the same."""
    unique: Sequence[str] = ()
    """The columns that name a row; all names that may not be empty, if left out."""
    refers: Mapping[str, tuple[Sequence[str], str]] = MappingProxyType({})
    """Column → the tables of which one has to have its values in a column of that name, and what is said."""
    closed: bool = False
    """Whether it may have no further columns."""
    rows: bool = False
    """Whether it may not be without a row."""


class TableChecker:
    """Reads tables and collects their problems."""

    def __init__(self, tables: Mapping[str, Table]) -> None:
        self.tables = dict(tables)
        self.problems: list[Problem] = []

    def check_columns(self, kind: str, needed: Sequence[str]) -> None:
        """See that a table has the columns it needs, and that their names can stand in prompts."""
        table = self.tables[kind]
        given = [str(c) for c in table.frame.columns]
        for column in (c for c in needed if c not in given):
            hint = nearest(table.labels.get(column, column), given)
            message = f"is missing{hint or '; there are: ' + ', '.join(given)}"
            self.problems.append(Problem(table.name, None, column, message))
        message = "has a line break in its name; prompts print it, so rename it"
        broken = [c for c in given if len(c.splitlines()) > 1]
        self.problems += [Problem(table.name, None, c, message) for c in broken]

    def report_table(self, kind: str, message: str) -> None:
        """Add a problem of a whole table."""
        self.problems.append(Problem(self.tables[kind].name, None, None, message))

    def read(
        self,
        kind: str,
        specified: Mapping[str, DataColumn],
        texts: Callable[[Table, str], tuple[Any, list[Problem]]] = text_column,
    ) -> pd.DataFrame:
        """Return a table, the columns that are specified first; ``texts`` reads those that are no numbers."""
        table = self.tables[kind]
        columns: dict[str, Any] = {}
        own = [c for c in specified if c in table.frame.columns]
        for column in dict.fromkeys([*own, *table.frame.columns]):
            of = specified.get(column, NAME)
            read = time_column if of.time else number_column if of.number else texts
            columns[column], problems = read(table, column)
            self.problems += problems
        return pd.DataFrame(columns, index=pd.RangeIndex(len(table.frame)), copy=False)

    def read_all(
        self,
        specified: Mapping[str, DataTable],
        texts: Callable[[str, Table, str], tuple[Any, list[Problem]]] = lambda _, *cells: strings(*cells),
    ) -> dict[str, pd.DataFrame]:
        """Return the tables as specified, and report what is not so; nothing, if a column is missing.

        ``texts`` reads what is no number, given the kind of table, the table and the column.
        """
        for kind in self.tables:
            columns = specified[kind].columns
            self.check_columns(kind, [name for name, column in columns.items() if column.needed])
        if self.problems:
            return {}
        frames = {}
        for kind in self.tables:
            frames[kind] = self.read(kind, specified[kind].columns, partial(texts, kind))
        for kind, frame in frames.items():
            self._check_specified(kind, frame, specified[kind])
        for kind, frame in frames.items():
            for column, (others, message) in specified[kind].refers.items():
                known = pd.concat([frames[other][column] for other in others if other in frames])
                self.check_known(kind, frame, column, known, message)
        return frames

    def _check_specified(self, kind: str, frame: pd.DataFrame, table: DataTable) -> None:
        there = {name: column for name, column in table.columns.items() if name in frame}
        self.check_filled(kind, frame, [name for name, column in there.items() if column.filled])
        for name, column in there.items():
            if column.words:
                self.check_words(kind, frame[name], column.words)
            if column.wrong:
                values, says = frame[name].to_numpy(), column.says.format
                wrong = column.wrong(values) & ~np.isnan(values)
                self.report(kind, name, wrong, lambda i, values=values, says=says: says(exact(values[i])))  # type: ignore[misc]
        if table.row:
            names = [name for name, column in there.items() if column.filled and not column.number]
            self.problems += duplicates(
                self.tables[kind], frame[[c for c in table.unique if c in frame] or names], table.row
            )
        for name in frame.columns.difference([*table.columns], sort=False) if table.closed else ():
            message = f"is not known{nearest(str(name), [*table.columns])}"
            message += f"; {kind} have {', '.join(table.columns)}"
            self.problems.append(Problem(self.tables[kind].name, None, str(name), message))
        if table.rows and not len(frame):
            self.report_table(kind, "has a header but no rows")

    def check_words(
        self, kind: str, values: pd.Series[str], allowed: Collection[str], more: str = ""
    ) -> None:
        """Report what is neither empty nor one of the words that are allowed."""
        wrong = ~(values.isin([*allowed]).to_numpy(dtype=bool) | blank(values))
        message = f"unknown {values.name}"
        self.report(
            kind,
            str(values.name),
            wrong,
            lambda i: unknown(message, values.iloc[i], allowed, "allowed") + more,
        )

    def report(
        self, kind: str, column: str | None, wrong: NDArray[np.bool_], message: str | Callable[[int], str]
    ) -> None:
        """Add a problem for each row that is wrong."""
        self.problems += [
            self.tables[kind].problem(i, column, message if isinstance(message, str) else message(i))
            for i in np.flatnonzero(wrong).tolist()
        ]

    def check_filled(self, kind: str, frame: pd.DataFrame, columns: Sequence[str]) -> None:
        """See that no cell of some columns is empty."""
        for column in columns:
            values = frame[column]
            if pd.api.types.is_float_dtype(values):
                # What is no number is NaN too, and was reported when it was read.
                name = self.tables[kind].name
                told = [p.row or 0 for p in self.problems if p.file == name and p.column == column]
                empty = values.isna().to_numpy() & ~np.isin(self.tables[kind].rows, told)
            else:
                empty = blank(values)
            self.report(kind, column, empty, "is empty; every row needs one")

    def check_known(
        self, kind: str, frame: pd.DataFrame, column: str, known: pd.Series[str], message: str
    ) -> None:
        """Report the first row of each name that is not known; ``message`` says what it lacks."""
        names = frame[column]
        strange = ~(names.isin(known.unique()) | names.duplicated() | blank(names)).to_numpy(dtype=bool)
        self.report(kind, column, strange, lambda i: f"the {noun(column)} {shown(names.iloc[i])} {message}")

    def check_places(
        self, kind: str, frame: pd.DataFrame, column: str, lists: NDArray[np.int64], where: str
    ) -> None:
        """See that the places of each list are whole numbers from 1 on, none twice and without a gap."""
        places = frame[column].to_numpy()
        wrong = ~((places >= 1) & (places == np.round(places)))
        told = wrong & ~np.isnan(places)
        self.report(
            kind, column, told, lambda i: f"the {column} {exact(places[i])} is not a whole number from 1 on"
        )
        again = pd.DataFrame({"list": lists, "place": places}).duplicated().to_numpy() & ~wrong
        self.report(kind, column, again, lambda i: f"the {column} {exact(places[i])} is in {where} twice")
        if not wrong.any() and not again.any() and len(frame):
            beyond = places > np.bincount(lists)[lists]
            message = f"there are fewer items in {where}; {column}s go from 1 on without a gap"
            self.report(kind, column, beyond, lambda i: f"the {column} is {exact(places[i])}, and {message}")

    def check_scale(
        self, kind: str, values: pd.Series[float], scale: Scale, among: NDArray[np.bool_] | None = None
    ) -> None:
        """See that the numbers of a column, or of those rows of it, are on a scale."""
        numbers = values.to_numpy()
        off = (numbers < scale.min) | (numbers > scale.max)
        if scale.integer:
            off |= ~np.isnan(numbers) & (numbers != np.round(numbers))
        if among is not None:
            off &= among
        said = f"is not on the scale; allowed are {scale}"
        self.report(kind, str(values.name), off, lambda i: f"the {values.name} {exact(numbers[i])} {said}")


def strings(table: Table, column: str) -> tuple[Any, list[Problem]]:
    """Return a column as texts, without a Python object for each where the file has texts."""
    values = table.frame[column]
    if isinstance(values.dtype, pd.StringDtype):
        return values.fillna(""), []
    texts, problems = text_column(table, column)
    return pd.Series(texts, dtype="str"), problems


def duplicates(table: Table, frame: pd.DataFrame, what: str) -> list[Problem]:
    """Return a problem for each row of ``table`` that an earlier row equals in the columns of ``frame``.

    ``what`` says what a row is.
    """
    codes = combine(np.zeros(len(frame), dtype=np.int64), *(frame[c] for c in frame))
    again = np.flatnonzero(pd.Series(codes).duplicated()).tolist()
    if not again:
        return []
    _, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
    return [
        table.problem(
            i,
            None,
            f"{what} ({row_text(frame, i, frame.columns)}) is already in row "
            f"{table.rows[first[inverse[i]]]}; keep one",
        )
        for i in again
    ]


def blank(texts: pd.Series[str]) -> NDArray[np.bool_]:
    """Say which texts hold nothing but blanks."""
    codes, values = pd.factorize(texts)
    # Each distinct text is looked at once: of keys there are few.
    empty = np.array([not str(v).strip() for v in np.asarray(values, dtype=object)], dtype=np.bool_)
    return empty[codes] if len(empty) else np.zeros(len(texts), dtype=np.bool_)


def combine(codes: NDArray[np.int64], *columns: pd.Series[Any]) -> NDArray[np.int64]:
    """Return numbers that are equal if and only if the codes and the columns are."""
    for column in columns:
        own, values = pd.factorize(column)
        # Numbered again after each column, so that the product stays far below 2**63.
        codes = pd.factorize(codes * (len(values) + 1) + own)[0].astype(np.int64)
    return codes


def coded(table: Table, value: str, scale: Scale) -> tuple[Table, list[Problem]]:
    """Return a table with positions in `Scale.labels` in place of words, and the problems of other words."""
    aspects = table.frame["aspect"].astype(str).to_numpy()
    words = {a: labels for a in np.unique(aspects) if (labels := scale.of(a).labels)}
    if not words:
        return table, []
    texts, problems = text_column(table, value)
    for aspect, labels in words.items():
        known = {"": "", **{word: str(at) for at, word in enumerate(labels)}}
        for i in np.flatnonzero(aspects == aspect).tolist():
            if texts[i] not in known:
                allowed = f"allowed are {scale.of(aspect)}{nearest(texts[i], labels)}"
                problems.append(table.problem(i, value, f"is {shown(texts[i])}; {allowed}"))
            texts[i] = known.get(texts[i], "")
    table = replace(table, frame=table.frame.assign(**{value: texts}))
    numbers, wrong = number_column(table, value)
    return replace(table, frame=table.frame.assign(**{value: numbers})), [*problems, *wrong]


def worded(frame: pd.DataFrame | None, value: str, scale: Scale) -> pd.DataFrame | None:
    """Return a table with the words of `Scale.labels` in place of their positions; the reverse of `coded`."""
    labels = {a: scale.of(a).labels for a in ([] if frame is None else frame["aspect"].unique())}
    if frame is None or not any(labels.values()):
        return frame
    of = zip(frame["aspect"], frame[value].tolist(), strict=True)
    words = [labels[a][int(v)] if v == v and labels[a] else v for a, v in of]  # noqa: PLR0124 NaN
    return frame.assign(**{value: pd.Series(words, frame.index).astype("str").fillna("")})
