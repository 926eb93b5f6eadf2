"""Runs of systems in TREC's format: a line is ``user Q0 item rank score system``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from metaeval.base.errors import DataError, Problem
from metaeval.sources.trec.fields import read_fields

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Sequence
    from typing import TypeAlias

    from numpy.typing import NDArray

    Ints: TypeAlias = NDArray[np.int64] | NDArray[np.intp]

_FIELDS = ["user_id", "q0", "item_id", "rank", "score", "system"]
_NUMBERS = {"rank": "a whole number", "score": "a finite number"}


class SystemRuns(NamedTuple):
    """What systems recommended, and what is odd about the files."""

    frame: pd.DataFrame
    """``system``, ``user_id``, ``item_id``, ``rank`` (from 1, without gaps), ``score``, ``file``, ``line``;
    by system and user in the order of the files, then by rank."""
    ties: pd.Series[int]
    """System → items that have the score of the one before them."""
    contradicting: pd.Series[int]
    """System → users whose list is in another order by the scores than by the ranks of the file."""


def run_files(places: Iterable[str | os.PathLike[str]]) -> list[Path]:
    """Return files, and the files of folders but hidden ones, in order of their names within each.

    Raises
    ------
    DataError
        If there is nothing at a place.
    """
    found: list[Path] = []
    for place in map(Path, places):
        paths = sorted(p for p in place.iterdir() if p.is_file()) if place.is_dir() else [place]
        files = [p for p in paths if not p.name.startswith(".")]
        if not files:
            raise DataError(f"the folder {str(place)!r} holds no file; name the folder of the runs")
        found += files
    return list(dict.fromkeys(found))


def read_runs(files: Sequence[Path]) -> tuple[SystemRuns | None, list[Problem]]:
    """Read runs; a system's list for a user is ordered by score, as trec_eval does it.

    Ties keep the order of the file where its lines are in the order of their scores, and are in the order of
    the ranks where they are not, or where a list has one score alone.

    Returns
    -------
    tuple
        The runs, None if there are problems; and every problem: a line without six fields, a rank or score
        that is no number, a rank or an item that stands twice in a list, a system in two files.
    """
    frames, problems = [], []
    for at, path in enumerate(files):
        frame, found = read_fields(path, _FIELDS, "run file")
        problems += found or ([] if len(frame) else [Problem(path.name, None, None, "has no lines")])
        frames.append(frame.drop(columns="q0").assign(file=at))
    rows = pd.concat(frames, ignore_index=True)
    names = [path.name for path in files]
    problems += _number(rows, names)
    if problems:
        return None, problems
    system, systems = pd.factorize(rows["system"])
    lists = system.astype(np.int64) * len(rows) + pd.factorize(rows["user_id"])[0]
    problems = [*_twice(rows, lists, names), *_of_two_files(rows, names)]
    return (None, problems) if problems else (_ordered(rows, lists, system, systems, names), [])


def _number(rows: pd.DataFrame, names: Sequence[str]) -> list[Problem]:
    """Make numbers of ranks and scores, and return those that are none."""
    problems = []
    for column, wanted in _NUMBERS.items():
        try:
            numbers = pd.Series(pc.cast(pa.array(rows[column]), pa.float64()).to_numpy())
        except pa.ArrowInvalid:  # a word, or a way to write a number that Arrow does not know
            numbers = pd.to_numeric(rows[column], errors="coerce").astype(float)
        fits = np.isfinite(numbers) & ((column != "rank") | (numbers % 1 == 0))
        problems += [
            Problem(names[file], line, column, f"is {given!r}; it is {wanted}")
            for file, line, given in rows.loc[~fits, ["file", "line", column]].itertuples(index=False)
        ]
        rows[column] = numbers
    return problems


def _twice(rows: pd.DataFrame, lists: Ints, names: Sequence[str]) -> list[Problem]:
    problems = []
    for column, what in (("rank", "the rank {:g}"), ("item_id", "the item {!r}")):
        cells = pd.DataFrame({"list": lists, "value": pd.factorize(rows[column])[0]})
        again = rows.loc[cells.duplicated(), ["file", "line", column, "user_id"]]
        problems += [
            Problem(names[file], line, None, f"{what.format(value)} is twice in the list of user {user!r}")
            for file, line, value, user in again.itertuples(index=False)
        ]
    return problems


def _of_two_files(rows: pd.DataFrame, names: Sequence[str]) -> list[Problem]:
    pairs = rows[["system", "file", "line"]].drop_duplicates(["system", "file"])
    first = pairs.groupby("system")["file"].transform("first")
    return [
        Problem(names[file], line, None, f"the system {system!r} is in {names[other]} too; rename one")
        for system, file, line, other in pairs.assign(first=first)[first != pairs["file"]].itertuples(
            index=False
        )
    ]


def _ordered(
    rows: pd.DataFrame, lists: Ints, system: Ints, systems: pd.Index[str], names: Sequence[str]
) -> SystemRuns:
    ranks, scores, lines = (rows[name].to_numpy() for name in ("rank", "score", "line"))
    by_line = np.lexsort((lines, lists))
    same = _same(lists[by_line])
    steps = np.where(same, np.append(0.0, np.diff(scores[by_line])), 0.0)
    # Lines in the order of their scores say more of ties than ranks do; what is all one score says nothing.
    trusted = np.isin(lists, lists[by_line][steps < 0]) & ~np.isin(lists, lists[by_line][steps > 0])
    order = np.lexsort((np.where(trusted, lines, ranks), -scores, lists))
    frame = rows.loc[order, ["system", "user_id", "item_id", "score"]].reset_index(drop=True)
    same = _same(lists[order])
    starts = np.flatnonzero(~same)
    place = np.arange(len(frame)) - np.repeat(starts, np.diff(np.append(starts, len(frame)))) + 1
    frame.insert(3, "rank", place)
    frame["file"] = pd.Series(list(names)).take(rows["file"].to_numpy()[order]).to_numpy()
    frame["line"] = lines[order]
    tied = same & np.append(False, np.diff(scores[order]) == 0)
    by_rank = np.lexsort((ranks, -scores, lists))
    back = by_rank[_same(lists[by_rank]) & np.append(False, np.diff(ranks[by_rank]) < 0)]
    contradicting = back[np.unique(lists[back], return_index=True)[1]]
    return SystemRuns(frame, _counted(systems, system[order][tied]), _counted(systems, system[contradicting]))


def _same(lists: Ints) -> NDArray[np.bool_]:
    """Say of each row whether the one before it is of the same list."""
    return np.append(False, np.diff(lists) == 0)


def _counted(systems: pd.Index[str], codes: Ints) -> pd.Series[int]:
    counts = pd.Series(np.bincount(codes, minlength=len(systems)), index=systems)
    return counts[counts > 0].sort_values(ascending=False, kind="stable")
