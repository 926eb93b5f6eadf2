"""Import recorded verdicts of other judges by a map, and read files of verdicts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import pandas as pd

from metaeval.base.errors import DataError, Problem, nearest, sound
from metaeval.base.records import FIRST, SECOND, TIE, Status
from metaeval.base.validation import read_model
from metaeval.sources.tables.columns import text_column
from metaeval.sources.tables.table import read_table
from metaeval.sources.verdict_map import KEYS, LONG, PairColumns, VerdictMap, word

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    from metaeval.sources.verdict_map import Gold, Sides

    Texts: TypeAlias = NDArray[np.object_]  # one per row

WinnerOf: TypeAlias = Literal["shown", "unswapped"]

_OTHER = {FIRST: SECOND, SECOND: FIRST}
_NAMES = ("item_id", FIRST, SECOND, "evaluator", "order")
_ALLOWED = {"order": (FIRST, SECOND), "winner": (FIRST, SECOND, TIE, ""), "gold": (FIRST, SECOND, TIE, "")}


def import_verdicts(
    path: str | os.PathLike[str], map_path: str | os.PathLike[str], *, winner_of: WinnerOf
) -> pd.DataFrame:
    """Return the verdicts that a table records.

    Parameters
    ----------
    path
        CSV, TSV, JSONL or Parquet, one row per pair and order.
    map_path
        Which column is what (`metaeval.sources.verdict_map`).
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
    reader = VerdictReader(source)
    columns: dict[str, Any] = {k: reader.joined(how.units[k], "/") for k in KEYS if k in how.units}
    if isinstance(how.pair, PairColumns):
        columns |= {side: reader.joined([column], "") for side, column in how.pair}
    else:
        columns |= dict(zip((FIRST, SECOND), how.pair, strict=True))
    order, winner = reader.meant(how.order), reader.meant(how.winner)
    if winner_of == "shown":
        winner = np.where(order == SECOND, _turned(winner), winner)
    columns["aspect"] = how.aspect if isinstance(how.aspect, str) else reader.text(how.aspect.column)
    columns["evaluator"] = reader.joined(how.evaluator, " ")
    status = np.where(winner == "", str(Status.MISSING), str(Status.OK))
    columns |= {"order": order, "winner": winner, "status": status, "call": ""}
    if how.gold is not None:
        columns["gold"] = _gold(how.gold, how, reader, source.parent)
    frame = pd.DataFrame(columns | {name: reader.text(name) for name in how.keep})
    same = frame[FIRST] == frame[SECOND]
    reader.report(same, None, lambda i: f"names {frame[FIRST].iloc[i]!r} on both sides of the pair")
    frame = _in_order_of_names(frame)
    by = [*(k for k in KEYS if k in frame), FIRST, SECOND, "aspect", "evaluator", "order"]
    message = "is a second verdict on the same pair in the same order; there must be one"
    reader.report(frame.duplicated(by), None, lambda _: message)
    return sound((frame, reader.problems))


def read_verdicts(path: str | os.PathLike[str]) -> pd.DataFrame:
    """Read verdicts that `import_verdicts` made, from a file with its columns.

    Raises
    ------
    DataError
        With the row and column of everything that is wrong.
    """
    reader = VerdictReader(Path(path))
    for name in (*_NAMES, "winner"):
        reader.need(name, "; make a file of verdicts with `metaeval verdicts import`")
    frame = pd.DataFrame({name: reader.text(name) for name in reader.given})
    for name in _NAMES:
        reader.report(frame[name] == "", name, lambda _: "is empty")
    for name, allowed in _ALLOWED.items():
        if name in frame:
            words = ", ".join(w or "empty" for w in allowed)
            said = [f"is {value!r}; it may be {words}" for value in frame[name]]
            reader.report(~frame[name].isin(allowed), name, said.__getitem__)
    ordered = [k for k in (*KEYS, FIRST, SECOND) if k in reader.given]
    frame = sound((frame, reader.problems))[[*ordered, *(c for c in reader.given if c not in ordered)]]
    return frame if "aspect" in frame else frame.assign(aspect="")


def kept_columns(verdicts: pd.DataFrame) -> list[str]:
    """Return the columns that an import kept beside those of verdicts."""
    return [str(c) for c in verdicts.columns if c not in LONG]


class VerdictReader:
    """Reads columns of a table as text, and collects their problems."""

    def __init__(self, path: Path) -> None:
        if not path.is_file():
            raise DataError(f"there is no file {path}")
        self.table = sound(read_table(path))
        self.given = [str(c) for c in self.table.frame.columns]
        self.problems: list[Problem] = []
        self._texts: dict[str, Texts] = {}

    def need(self, column: str, else_said: str) -> None:
        """Raise `DataError` if a column is not there."""
        if column not in self.given:
            message = f"there is no column {column!r}{nearest(column, self.given)}{else_said}"
            raise DataError([Problem(self.table.name, None, None, message)])

    def report(self, wrong: object, column: str | None, message: Callable[[int], str]) -> None:
        """Add a problem for each row that is wrong."""
        rows = np.flatnonzero(np.asarray(wrong, dtype=bool)).tolist()
        self.problems += [self.table.problem(i, column, message(i)) for i in rows]

    def text(self, column: str) -> Texts:
        """Return a column as text."""
        if column not in self._texts:
            self.need(column, f"; it has {', '.join(self.given)}")
            self._texts[column], found = text_column(self.table, column)
            self.problems += found
        return self._texts[column]

    def joined(self, columns: Sequence[str], separator: str) -> Texts:
        """Join several columns to one text; an empty cell is a problem."""
        texts = [self.text(column) for column in columns]
        for column, values in zip(columns, texts, strict=True):
            self.report(values == "", column, lambda _: "is empty")
        return np.array([separator.join(row) for row in zip(*texts, strict=True)], dtype=object)

    def meant(self, sides: Sides) -> Texts:
        """Return the meaning of each word of a column; an unknown word is a problem."""
        meanings, given = sides.meanings, self.text(sides.column)
        known = ", ".join(w or "empty" for w in meanings)
        unknown = [word(value) not in meanings for value in given]
        self.report(unknown, sides.column, lambda i: f"is {given[i]!r}; the map knows {known}")
        return np.array([meanings.get(word(value), "") for value in given], dtype=object)


def _gold(gold: Gold, how: VerdictMap, reader: VerdictReader, folder: Path) -> Texts:
    """Return the gold verdict of each row; empty where there is none."""
    if gold.file is None:
        return reader.meant(gold)
    other = VerdictReader(folder / gold.file)
    columns = [*dict.fromkeys(c for of_key in how.units.values() for c in of_key)]
    rights = other.meant(gold)
    keys = list(zip(*map(other.text, columns), strict=True))
    found: dict[tuple[str, ...], str] = {}
    differs = [found.setdefault(key, right) != right for key, right in zip(keys, rights, strict=True)]
    message = "differs from what an earlier row says of the same pair"
    other.report(differs, gold.column, lambda _: message)
    if other.problems:
        raise DataError(other.problems)
    return np.array(
        [found.get(key, "") for key in zip(*map(reader.text, columns), strict=True)], dtype=object
    )


def _in_order_of_names(frame: pd.DataFrame) -> pd.DataFrame:
    """Swap the sides of pairs that are not in alphabetical order, and their verdicts accordingly."""
    turned = (frame[FIRST] > frame[SECOND]).to_numpy()
    if turned.any():
        frame = frame.copy()
        frame.loc[turned, [FIRST, SECOND]] = frame.loc[turned, [SECOND, FIRST]].to_numpy()
        for column in _ALLOWED.keys() & frame.columns:
            frame.loc[turned, column] = _turned(frame.loc[turned, column])
    return frame


def _turned(sides: Iterable[str]) -> list[str]:
    return [_OTHER.get(side, side) for side in sides]
