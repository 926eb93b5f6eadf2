"""People's labels of the units in a folder: a log of every answer, and the tables that are made from it.

The log is the truth while a person labels: an answer is appended and synced, and nothing else is written.
Whoever reads the tables calls `update_labels` first, which brings in what the log has and they lack.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from metaeval.base.errors import DataError, Problem
from metaeval.base.files import replacing
from metaeval.base.records import FIRST, SECOND, TIE
from metaeval.data.manifest import FORMATS, write_table
from metaeval.data.tables.table import read_table

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    Name = tuple[str, ...]
    """(*key of a unit, aspect)."""

LABELLING, LABELLING_LOCK = "labelling.jsonl", ".labelling.lock"
"""The names of the log and of its lock file."""
LABELLED_PAIRS = "verdicts"
"""The table of people's verdicts on two texts side by side."""
ASKING, AGAIN = "asking", "2"
"""The key column that a repeated label has beside those of its unit, and its value."""
ATTENTION = "attention"
"""The table of the right answers that the owner of a set knows, and what its raters' answers begin with."""
_WRITTEN = "written"
"""What the log says once its labels are in their tables."""
_PATIENCE = 30  # seconds


@contextlib.contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Keep others from changing the labels in a folder; a killed process holds nothing.

    `DataError` is raised if another process holds it for half a minute, or nothing can be written there.
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
    """The table of a folder that people's labels stand in, a row per unit, aspect and rater."""

    name: str = "ratings"
    """Of the table, without suffix."""
    rater: str = "rater"
    label: str = "rating"
    """Its column of labels; one called ``winner`` names the winning side, whichever was shown first."""
    aspect: str = "aspect"
    """Its column of aspects; empty, if there is only one aspect."""
    showing: str = ""
    """The key column whose values are two ways to show the same two sides; empty if there is none."""
    people: bool = True
    """Whether every label in it is a person's."""

    @property
    def repeated(self) -> LabelTable:
        """That of the labels of a second asking, which has the key column `ASKING` too."""
        return replace(self, name=f"repeated_{self.name}")

    @property
    def attention(self) -> LabelTable:
        """That of the labels of attention items, which are no part of the truth."""
        return replace(self, name=f"{ATTENTION}_{self.name}")

    def is_in(self, folder: Path) -> bool:
        """Say whether a folder has the table."""
        return self._path(folder).is_file()

    def labels(self, folder: Path, keys: Sequence[str], aspect: str) -> dict[str, dict[Name, float]]:
        """Return rater → (*key, aspect) → label; ``aspect`` is the one of a table that does not say it."""
        labels: dict[str, dict[Name, float]] = {}
        frame = self._read(self._path(folder), keys)
        if frame is None:
            return labels
        if self.label == _WINNER:
            label_of = {(order, winner): label for (order, label), winner in _WINNERS.items()}
            winners = zip(frame[self.showing], frame[self.label], strict=True)
            values = [label_of.get(winner, math.nan) for winner in winners]
        else:
            values = pd.to_numeric(frame[self.label], errors="coerce").tolist()
        for rater, name, label in zip(frame[self.rater], self._names(frame, keys), values, strict=True):
            if not math.isnan(label):
                labels.setdefault(str(rater), {})[name if self.aspect else (*name, aspect)] = label
        return labels

    def put(
        self, folder: Path, keys: Sequence[str], labels: Mapping[str, Mapping[Name, float | None]]
    ) -> None:
        """Write labels, all or none, and leave all other rows as they are; call it while `alone`.

        ``keys`` are the key columns; ``labels`` has rater → (*key, aspect) → label, None to take one away.
        """
        path = self._path(folder)
        frame = self._read(path, keys)
        if frame is None:
            columns = [*keys, self.rater, *([self.aspect] if self.aspect else []), self.label]
            frame = pd.DataFrame(columns=columns, dtype=str)
        for stale in folder.glob(f".{self.name}.*.tmp.*"):  # of a process that was killed while it wrote
            stale.unlink(missing_ok=True)
        for rater, changes in labels.items():
            frame = self.changed(frame, rater, keys, changes)
        # Without rows a JSONL file says nothing, not even its columns.
        target = path if len(frame) or path.suffix != ".jsonl" else path.with_suffix(".csv")
        with replacing(target) as temporary:
            write_table(frame, temporary)
            with temporary.open("rb+") as file:
                os.fsync(file.fileno())
        if target != path:
            path.unlink()

    def changed(
        self, frame: pd.DataFrame, rater: str, keys: Sequence[str], labels: Mapping[Name, float | None]
    ) -> pd.DataFrame:
        """Return the table with labels of a rater: replaced in place, else appended; see `put`."""
        left = {name if self.aspect else name[:-1]: label for name, label in labels.items()}
        numeric = pd.api.types.is_numeric_dtype(frame[self.label])

        def cell(label: float | None, name: Name) -> str | float | None:
            if numeric or label is None:
                return label if numeric else ""
            if self.label == _WINNER:
                return _WINNERS[name[list(keys).index(self.showing)], label]
            return f"{label:.15g}"

        values, gone = frame[self.label].tolist(), []
        own = np.flatnonzero((frame[self.rater] == rater).to_numpy(dtype=bool, na_value=False))
        for at, name in zip(own.tolist(), self._names(frame.iloc[own], keys), strict=True):
            if name in left:
                label = left.pop(name)
                gone += [at] if label is None else []
                values[at] = cell(label, name)
        table = frame.assign(**{self.label: values}).drop(index=frame.index[gone])
        new = [(name, label) for name, label in left.items() if label is not None]
        if not new:
            return table.reset_index(drop=True)
        columns = [*keys, *([self.aspect] if self.aspect else [])]
        more = pd.DataFrame([name for name, _ in new], columns=columns)
        more[self.rater] = rater
        more[self.label] = [cell(label, name) for name, label in new]
        for column in table.columns.difference(more.columns):
            more[column] = ""  # further columns are unknown
        return pd.concat([table, more[list(table.columns)]], ignore_index=True)

    def _names(self, frame: pd.DataFrame, keys: Sequence[str]) -> list[Name]:
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


_WINNER = "winner"
_WINNERS = {(FIRST, 1.0): FIRST, (FIRST, -1.0): SECOND, (SECOND, 1.0): SECOND, (SECOND, -1.0): FIRST} | {
    (order, 0.0): TIE for order in (FIRST, SECOND)
}
"""The order shown and the label → the winner."""
VERDICTS = LabelTable("scores", "evaluator", "score", showing="order", people=False)
"""Where verdicts on two sides stand, as those of other tools do."""
WINNERS = LabelTable(LABELLED_PAIRS, "evaluator", _WINNER, showing="order", people=False)
"""Where verdicts on pairs of explanations stand, as `metaeval.evaluators.verdicts` says."""
SIDES: dict[float, str] = {1: "the first", 0: "no difference", -1: "the second"}
"""What a verdict may be → its name."""


# The log


def read_log(folder: Path, start: int = 0) -> tuple[list[dict[str, Any]], int]:
    """Return the events in the log from a byte on, and the byte after them; broken lines are left out."""
    path, events = folder / LABELLING, []
    if not path.is_file():
        return [], start
    with path.open("rb") as file:
        file.seek(start)
        lines = file.read()
    whole = lines[: lines.rfind(b"\n") + 1]
    for line in whole.split(b"\n"):
        with contextlib.suppress(ValueError, RecursionError):
            event = json.loads(line)
            if isinstance(event, dict) and {"rater", "do", "unit"} <= event.keys():
                events.append(event)
    return events, start + len(whole)


def append_to_log(folder: Path, event: Mapping[str, Any]) -> None:
    """Append what a rater did; it is on the disk when this returns. Call it while `alone`.

    ``event`` has ``rater``, ``do`` and ``unit``; a label has ``aspect``, ``label``, its `LabelTable` as a
    ``table``, and the key columns ``keys``.
    """
    event = {**event, "time": datetime.now(UTC).isoformat(timespec="seconds")}
    with (folder / LABELLING).open("ab+") as file:
        # A line that was cut off when the power went stays by itself.
        cut = file.tell() and (file.seek(-1, os.SEEK_END), file.read())[1] != b"\n"
        file.write(b"\n" * bool(cut) + json.dumps(event).encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())


def update_labels(folder: Path) -> None:
    """Bring the labels that only the log of a folder has into their tables.

    `DataError` is raised if there are such labels, and a table cannot be read or written.
    """
    if _pending(folder):
        with alone(folder):
            write_pending(folder)


def write_pending(folder: Path) -> None:
    """Do the same while `alone`; done twice, after a kill in between, it changes nothing more."""
    changes: dict[tuple[LabelTable, Name], dict[str, dict[Name, float | None]]] = {}
    for event in _pending(folder):
        labels = changes.setdefault((LabelTable(**event["table"]), tuple(event["keys"])), {})
        labels.setdefault(event["rater"], {})[*event["unit"], event["aspect"]] = event["label"]
    for (table, keys), labels in changes.items():
        table.put(folder, keys, labels)
    if changes:
        append_to_log(folder, {"rater": "", "do": _WRITTEN, "unit": []})


def _pending(folder: Path) -> list[dict[str, Any]]:
    pending: list[dict[str, Any]] = []
    for event in read_log(folder)[0]:
        if event["do"] == _WRITTEN:
            pending = []
        elif "table" in event:
            pending.append(event)
    return pending
