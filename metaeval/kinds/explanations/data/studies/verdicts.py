"""Import recorded verdicts of other judges by a map, and read files of verdicts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import pandas as pd

from metaeval.base.errors import DataError, Problem, nearest, sound
from metaeval.base.records import FIRST, SECOND, Status
from metaeval.base.validation import read_model
from metaeval.kinds.explanations.data.studies.verdict_map import PairColumns, VerdictMap, word
from metaeval.sources.tables.columns import text_column
from metaeval.sources.tables.table import read_table

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from metaeval.kinds.explanations.data.studies.verdict_map import Gold, Sides
    from metaeval.sources.tables.table import Table

WinnerOf: TypeAlias = Literal["shown", "unswapped"]

_OTHER = {FIRST: SECOND, SECOND: FIRST}
_KEYS = ("user_id", "item_id")
_NAMES = ("item_id", "first", "second", "evaluator", "order")
_LONG = ("user_id", *_NAMES, "aspect", "winner", "status", "call", "gold")


def import_verdicts(
    path: str | os.PathLike[str], map_path: str | os.PathLike[str], *, winner_of: WinnerOf
) -> pd.DataFrame:
    """Return the verdicts that a table records.

    Parameters
    ----------
    path
        CSV, TSV, JSONL or Parquet, a row an order of a pair.
    map_path
        Which column is what (`metaeval.kinds.explanations.data.studies.verdict_map`).
    winner_of
        What ``first`` means under ``winner``: with ``shown`` the text that was shown first, with
        ``unswapped`` the pair's first side, the order undone.

    Returns
    -------
    DataFrame
        ``user_id`` if it is mapped, ``item_id``, ``first`` and ``second`` (in the order of their names as
        text), ``aspect``, ``evaluator``, ``order``, ``winner``, ``status``, ``call``, then ``gold``, in the
        names of the pair too, if it is mapped (empty: there is none), and the columns that are kept.

    Raises
    ------
    DataError
        With the row and column of everything that is wrong.
    """
    source, how = Path(path), sound(read_model(Path(map_path), VerdictMap))
    table = _table(source)
    reader = _Reader(table)
    keys = {key: reader.joined(columns, "/") for key, columns in how.units.items()}
    sides = _sides(how, reader)
    order = reader.meant(how.order)
    winner = reader.meant(how.winner)
    if winner_of == "shown":
        swapped = order == SECOND
        winner = np.where(swapped, [_OTHER.get(w, w) for w in winner], winner)
    gold = None if how.gold is None else _gold(how.gold, how, reader, source.parent)
    columns: dict[str, Any] = {k: keys[k] for k in _KEYS if k in keys}
    columns |= {"first": sides[0], "second": sides[1]}
    by_column = not isinstance(how.aspect, str)
    columns["aspect"] = reader.text(how.aspect.column) if by_column else [how.aspect] * len(order)  # type: ignore[union-attr]
    columns["evaluator"] = reader.joined(how.evaluator, " ")
    columns |= {"order": order, "winner": winner}
    columns["status"] = np.where(winner == "", str(Status.MISSING), str(Status.OK))
    columns["call"] = ""
    if gold is not None:
        columns["gold"] = gold
    columns |= {name: reader.text(name) for name in how.keep}
    frame = pd.DataFrame(columns)
    reader.problems += [
        table.problem(i, None, f"names {frame['first'].iloc[i]!r} on both sides of the pair")
        for i in _where(frame["first"] == frame["second"])
    ]
    by = [*(k for k in _KEYS if k in frame), "first", "second", "aspect", "evaluator", "order"]
    frame = _in_order_of_names(frame)
    reader.problems += [
        table.problem(i, None, "is a second verdict on the same pair in the same order; there must be one")
        for i in _where(frame.duplicated(by))
    ]
    if reader.problems:
        raise DataError(reader.problems)
    return frame


def read_verdicts(path: str | os.PathLike[str]) -> pd.DataFrame:
    """Read verdicts that `import_verdicts` made, from a file with its columns.

    Raises
    ------
    DataError
        With the row and column of everything that is wrong.
    """
    table = _table(Path(path))
    reader = _Reader(table)
    given = [str(c) for c in table.frame.columns]
    for name in (*_NAMES, "winner"):
        if name not in given:
            message = (
                f"there is no column {name!r}{nearest(name, given)}; make a file of verdicts with "
                "`metaeval verdicts import`"
            )
            raise DataError([Problem(table.name, None, None, message)])
    frame = pd.DataFrame({name: reader.text(name) for name in given})
    for name in _NAMES:
        reader.problems += [table.problem(i, name, "is empty") for i in _where(frame[name] == "")]
    for name, allowed in (
        ("order", (FIRST, SECOND)),
        ("winner", (*_OTHER, "tie", "")),
        ("gold", (*_OTHER, "tie", "")),
    ):
        if name in frame:
            words = ", ".join(w or "empty" for w in allowed)
            reader.problems += [
                table.problem(i, name, f"is {frame[name].iloc[i]!r}; it may be {words}")
                for i in _where(~frame[name].isin(allowed))
            ]
    if reader.problems:
        raise DataError(reader.problems)
    ordered = [k for k in (*_KEYS, FIRST, SECOND) if k in given]
    frame = frame[[*ordered, *(c for c in given if c not in ordered)]]
    return frame if "aspect" in frame else frame.assign(aspect="")


def kept_columns(verdicts: pd.DataFrame) -> list[str]:
    """Return the columns that an import kept beside those of verdicts."""
    return [str(c) for c in verdicts.columns if c not in _LONG]


class _Reader:
    """Reads columns of a table as text, and collects their problems."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.problems: list[Problem] = []
        self._texts: dict[str, Any] = {}

    def text(self, column: str) -> Any:  # noqa: ANN401 - str of shape (rows,)
        """Return a column as text."""
        if column not in self._texts:
            given = [str(c) for c in self.table.frame.columns]
            if column not in given:
                message = f"there is no column {column!r}{nearest(column, given)}; it has {', '.join(given)}"
                raise DataError([Problem(self.table.name, None, None, message)])
            self._texts[column], found = text_column(self.table, column)
            self.problems += found
        return self._texts[column]

    def joined(self, columns: Sequence[str], separator: str) -> Any:  # noqa: ANN401 - str of shape (rows,)
        """Join several columns to one text; an empty cell is a problem."""
        texts = [self.text(column) for column in columns]
        for column, values in zip(columns, texts, strict=True):
            self.problems += [self.table.problem(i, column, "is empty") for i in _where(values == "")]
        return np.array([separator.join(row) for row in zip(*texts, strict=True)], dtype=object)

    def meant(self, sides: Sides) -> Any:  # noqa: ANN401 - str of shape (rows,)
        """Return the meaning of each word of a column; an unknown word is a problem."""
        meanings = sides.meanings
        given = self.text(sides.column)
        for i, value in enumerate(given):
            if word(value) not in meanings:
                allowed = ", ".join(w or "empty" for w in meanings)
                self.problems.append(
                    self.table.problem(i, sides.column, f"is {value!r}; the map knows {allowed}")
                )
        return np.array([meanings.get(word(value), "") for value in given], dtype=object)


def _table(path: Path) -> Table:
    if not path.is_file():
        raise DataError(f"there is no file {path}")
    return sound(read_table(path))


def _where(wrong: Any) -> list[int]:  # noqa: ANN401 - bool of shape (rows,)
    """Return the positions at which something is wrong."""
    return [int(i) for i in np.flatnonzero(wrong)]


def _sides(how: VerdictMap, reader: _Reader) -> tuple[Any, Any]:
    """Return the names of the two sides of each row."""
    if isinstance(how.pair, PairColumns):
        return reader.joined([how.pair.first], ""), reader.joined([how.pair.second], "")
    rows = len(reader.table.frame)
    one, two = (np.full(rows, name, dtype=object) for name in how.pair)
    return one, two


def _gold(gold: Gold, how: VerdictMap, reader: _Reader, folder: Path) -> Any:  # noqa: ANN401 - str of shape (rows,)
    """Return the gold verdict of each row; empty where there is none."""
    if gold.file is None:
        return reader.meant(gold)
    other = _Reader(_table(folder / gold.file))
    columns = [*dict.fromkeys(c for of_key in how.units.values() for c in of_key)]
    rights = other.meant(gold)
    found: dict[tuple[str, ...], str] = {}
    for i, (*key, right) in enumerate(zip(*map(other.text, columns), rights, strict=True)):
        if found.setdefault(tuple(key), right) != right:
            problem = other.table.problem(
                i, gold.column, "differs from what an earlier row says of the same pair"
            )
            other.problems.append(problem)
    if other.problems:
        raise DataError(other.problems)
    keys = zip(*map(reader.text, columns), strict=True)
    return np.array([found.get(key, "") for key in keys], dtype=object)


def _in_order_of_names(frame: pd.DataFrame) -> pd.DataFrame:
    """Swap the sides of pairs that are not in alphabetical order, and their verdicts accordingly."""
    turned = (frame["first"] > frame["second"]).to_numpy()
    if not turned.any():
        return frame
    frame = frame.copy()
    frame.loc[turned, ["first", "second"]] = frame.loc[turned, ["second", "first"]].to_numpy()
    for column in ("order", "winner", "gold"):
        if column in frame:
            frame.loc[turned, column] = [_OTHER.get(v, v) for v in frame.loc[turned, column]]
    return frame
