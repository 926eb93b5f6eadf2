"""Where people's labels of units stand in a folder: in one of its tables, changed row by row."""

from __future__ import annotations

import contextlib
import math
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from metaeval.base.errors import DataError, Problem
from metaeval.base.files import replacing
from metaeval.base.records import FIRST, SECOND, TIE
from metaeval.kinds.files.folder import FORMATS, LABELLED_PAIRS, LABELLING_LOCK, write_table
from metaeval.sources.tables.table import read_table

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

_PATIENCE = 30  # seconds


@contextlib.contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Keep others from changing the labels in a folder; a killed process holds nothing.

    Raises
    ------
    DataError
        If another process holds it for half a minute, or nothing can be written there.
    """
    from filelock import FileLock, Timeout

    lock = FileLock(folder / LABELLING_LOCK)
    try:
        lock.acquire(timeout=_PATIENCE)
    except Timeout:
        raise DataError(f"{folder} is being changed by another process; wait until it is done") from None
    except OSError as error:
        raise DataError(f"{folder} cannot be written to: {error.strerror}") from error
    try:
        yield
    finally:
        lock.release()


@dataclass(frozen=True, slots=True)
class LabelTable:
    """The table of a folder that people's labels stand in, a row per unit, aspect and rater.

    Parameters
    ----------
    name
        Of the table, without suffix.
    rater, label, aspect
        Its columns; without ``aspect`` there is only one aspect.
    showing
        The key column whose values are two ways to show the same two sides; empty if there is none.
    people
        Whether every label in it is a person's.
    """

    name: str = "ratings"
    rater: str = "rater"
    label: str = "rating"
    aspect: str = "aspect"
    showing: str = ""
    people: bool = True

    def is_in(self, folder: Path) -> bool:
        """Say whether a folder has the table."""
        return self._path(folder).is_file()

    def given(
        self, folder: Path, keys: Sequence[str], aspect: str
    ) -> dict[str, dict[tuple[str, ...], float]]:
        """Return rater → (*key, aspect) → label; ``aspect`` is the one of a table that does not say it."""
        found: dict[str, dict[tuple[str, ...], float]] = {}
        frame = self._read(self._path(folder), keys)
        if frame is None:
            return found
        for who, name, label in zip(
            frame[self.rater], self._names(frame, keys), self._labels(frame), strict=True
        ):
            if not math.isnan(label):
                whole = name if self.aspect else (*name, aspect)
                found.setdefault(str(who), {})[whole] = label
        return found

    def put(
        self,
        folder: Path,
        rater: str,
        keys: Sequence[str],
        labels: Mapping[tuple[str, ...], float | None],
    ) -> None:
        """Write labels of a rater, all or none, and leave all other rows as they are.

        Call it while `alone`.

        Parameters
        ----------
        keys
            The key columns.
        labels
            (*key, aspect) → label; None takes one away.
        """
        path = self._path(folder)
        frame = self._read(path, keys)
        if frame is None:
            columns = [*keys, self.rater, *([self.aspect] if self.aspect else []), self.label]
            frame = pd.DataFrame(columns=columns, dtype=str)
        for stale in folder.glob(f".{self.name}.*.tmp.*"):  # of a process that was killed while it wrote
            stale.unlink(missing_ok=True)
        made = self.changed(frame, rater, keys, labels)
        # Without rows a JSONL file says nothing, not even its columns.
        target = path if len(made) or path.suffix != ".jsonl" else path.with_suffix(".csv")
        with replacing(target) as temporary:
            write_table(made, temporary)
            with temporary.open("rb+") as file:
                os.fsync(file.fileno())
        if target != path:
            path.unlink()

    def changed(
        self,
        frame: pd.DataFrame,
        rater: str,
        keys: Sequence[str],
        labels: Mapping[tuple[str, ...], float | None],
    ) -> pd.DataFrame:
        """Return the table with labels of a rater: replaced in place, else appended; see `put`."""
        left = {name if self.aspect else name[:-1]: label for name, label in labels.items()}
        numeric = pd.api.types.is_numeric_dtype(frame[self.label])
        values, gone = frame[self.label].tolist(), []
        own = np.flatnonzero((frame[self.rater] == rater).to_numpy(dtype=bool, na_value=False))
        for at, name in zip(own.tolist(), self._names(frame.iloc[own], keys), strict=True):
            if name in left:
                label = left.pop(name)
                gone += [at] if label is None else []
                values[at] = label if numeric else self._cell(label, keys, name)
        table = frame.assign(**{self.label: values}).drop(index=frame.index[gone])
        columns = [*keys, *([self.aspect] if self.aspect else [])]
        new = [(name, label) for name, label in left.items() if label is not None]
        if not new:
            return table.reset_index(drop=True)
        more = pd.DataFrame([name for name, _ in new], columns=columns)
        more[self.rater] = rater
        more[self.label] = [label if numeric else self._cell(label, keys, name) for name, label in new]
        for column in table.columns.difference(more.columns):
            more[column] = ""  # further columns are unknown
        return pd.concat([table, more[list(table.columns)]], ignore_index=True)

    def _labels(self, frame: pd.DataFrame) -> list[float]:
        numbers: list[float] = pd.to_numeric(frame[self.label], errors="coerce").tolist()
        return numbers

    def _cell(self, label: float | None, keys: Sequence[str], name: tuple[str, ...]) -> str:
        del keys, name
        return "" if label is None else f"{label:.15g}"

    def _names(self, frame: pd.DataFrame, keys: Sequence[str]) -> list[tuple[str, ...]]:
        columns = [*keys, *([self.aspect] if self.aspect else [])]
        return list(zip(*(frame[c].astype(str) for c in columns), strict=True))

    def _path(self, folder: Path) -> Path:
        there = (p for f in FORMATS if (p := folder / f"{self.name}.{f}").is_file())
        return next(there, folder / f"{self.name}.csv")

    def _read(self, path: Path, keys: Sequence[str]) -> pd.DataFrame | None:
        if not path.is_file():
            return None
        table, problems = read_table(path)
        if table is None or problems:
            raise DataError(problems)
        frame = table.frame
        for column in (*keys, self.rater, self.label):
            if column not in frame:
                has = ", ".join(map(repr, frame.columns))
                raise DataError([Problem(path.name, None, column, f"is missing; the table has {has}")])
        # A table of one aspect may leave it out.
        return frame.assign(**{self.aspect: ""}) if self.aspect and self.aspect not in frame else frame


class WinnerTable(LabelTable):
    """The same of pairs, whose label is the word for the winner, whichever side was shown first."""

    __slots__ = ()

    def _labels(self, frame: pd.DataFrame) -> list[float]:
        label_of = {(order, winner): label for (order, label), winner in _WINNERS.items()}
        said = zip(frame[self.showing], frame[self.label], strict=True)
        return [label_of.get(key, math.nan) for key in said]

    def _cell(self, label: float | None, keys: Sequence[str], name: tuple[str, ...]) -> str:
        return "" if label is None else _WINNERS[name[list(keys).index(self.showing)], label]


_WINNERS = {(FIRST, 1.0): FIRST, (FIRST, -1.0): SECOND, (SECOND, 1.0): SECOND, (SECOND, -1.0): FIRST} | {
    (order, 0.0): TIE for order in (FIRST, SECOND)
}
"""The order shown and the label → the winner."""
VERDICTS = LabelTable("scores", "evaluator", "score", showing="order", people=False)
"""Where verdicts on two sides stand, as those of other tools do."""
WINNERS = WinnerTable(LABELLED_PAIRS, "evaluator", "winner", showing="order", people=False)
"""Where verdicts on pairs of explanations stand, as `metaeval.evaluators.verdicts` says."""
SIDES: dict[float, str] = {1: "the first", 0: "no difference", -1: "the second"}
"""What a verdict may be → its name."""
