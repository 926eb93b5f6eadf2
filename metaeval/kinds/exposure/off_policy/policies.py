"""Policies to evaluate: with which probability each item is shown, at a position, to a user."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from metaeval.base.errors import DataError, MetaevalError, Problem, nearest, shown
from metaeval.kinds.exposure.data.loading import POLICIES
from metaeval.kinds.exposure.data.log_set import ITEM, POSITION, USER
from metaeval.sources.tables.columns import number_column, text_column
from metaeval.sources.tables.table import read_table

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from metaeval.kinds.exposure.off_policy.arrays import LogArrays
    from metaeval.sources.tables.table import Table
    from metaeval.stats.coefficients.tables import Floats, Ints

UNIFORM = "uniform"
_PROBABILITY = "probability"
_SUM = 1e-3  # by which probabilities written with few digits may miss 1


@dataclass(frozen=True, slots=True, eq=False)
class TargetPolicy:
    """Probabilities of items, and which of them hold in a round."""

    name: str
    items: list[str]
    """Those of the log, and further ones that only the policy knows."""
    table: Floats
    """Shape (rows, items)."""
    row: Ints
    """The row of each round, shape (n,)."""


def uniform(log: LogArrays) -> TargetPolicy:
    """Return the policy that shows every item alike."""
    items = list(log.items)
    return TargetPolicy(
        UNIFORM, items, np.full((1, len(items)), 1 / len(items)), np.zeros(len(log), dtype=np.int32)
    )


def read_policy(given: str, log: LogArrays, folder: str | os.PathLike[str]) -> TargetPolicy:
    """Return the policy that is named: ``uniform``, a file, or one of the data set's own.

    A file has the columns ``item_id`` and ``probability`` and, where these differ by them, ``position`` and
    ``user_id``; an item that it leaves out has the probability 0.

    Raises
    ------
    MetaevalError
        If there is no such policy; with file, row and column of what is wrong with it.
    """
    path = policy_file(given, folder)
    if path is None:
        return uniform(log)
    table, problems = read_table(path)
    if table is None or problems:
        raise DataError(problems)
    return policy_of(table, log, path.stem)


def policy_file(given: str, folder: str | os.PathLike[str]) -> Path | None:
    """Return the file of the policy that is named; None for ``uniform``.

    Raises
    ------
    MetaevalError
        If there is no such policy.
    """
    own = policies_in(folder)
    path = Path(given) if Path(given).is_file() else own.get(given)
    if path is None and given != UNIFORM:
        names = [UNIFORM, *own]
        raise MetaevalError(
            f"there is no policy and no file {given!r}{nearest(given, names)}; give a file, or one of "
            f"{', '.join(names)}"
        )
    return None if given == UNIFORM else path


def policies_in(folder: str | os.PathLike[str]) -> dict[str, Path]:
    """Return the policies that came with a data set: name → file."""
    return {path.stem: path for path in sorted((Path(folder) / POLICIES).glob("*.*"))}


def policy_of(table: Table, log: LogArrays, name: str) -> TargetPolicy:
    """Return the policy in a table; see `read_policy`."""
    for column in (ITEM, _PROBABILITY):
        if column not in table.frame:
            raise DataError([Problem(table.name, None, None, f"has no column {column!r}; a policy needs it")])
    item, problems = text_column(table, ITEM)
    probability, more = number_column(table, _PROBABILITY)
    problems += more
    wrong = np.flatnonzero(~((probability >= 0) & (probability <= 1)))
    problems += [table.problem(int(i), _PROBABILITY, "is not a number from 0 to 1") for i in wrong[:20]]
    by = {}
    for key, names, coded in (
        (POSITION, [str(p) for p in log.positions], log.position),
        (USER, log.users, log.cluster),
    ):
        if key not in table.frame:
            continue
        if key == USER and not len(log.users):
            problems.append(Problem(table.name, None, key, "names users, and the log has none"))
        text, more = text_column(table, key)
        problems += more
        by[key] = pd.Index(names).get_indexer(pd.Index(text)), len(names), coded
    if problems:
        raise DataError(problems)
    return _filled(table, name, item, probability, by, log)


def _filled(  # noqa: PLR0917 - columns of one table
    table: Table,
    name: str,
    item: np.ndarray[tuple[int], np.dtype[np.object_]],
    probability: Floats,
    by: Mapping[str, tuple[Ints, int, Ints]],
    log: LogArrays,
) -> TargetPolicy:
    items = [*log.items, *sorted(set(item) - set(log.items))]
    place, row, width = np.zeros(len(item), np.int64), np.zeros(len(log), np.int64), 1
    known = np.ones(len(item), dtype=bool)
    for code, n, of_round in by.values():
        place, row, width = place * n + code, row * n + of_round, width * n
        known &= code >= 0  # what no round of the log needs
    needed, row = np.unique(row, return_inverse=True)
    at = np.searchsorted(needed, place)
    known &= (at < len(needed)) & (needed[np.minimum(at, len(needed) - 1)] == place)
    column = pd.Index(items).get_indexer(pd.Index(item))
    again = np.flatnonzero(known & pd.DataFrame({"row": at, "item": column}).duplicated().to_numpy())
    if len(again):
        keys = " and ".join([ITEM, *by])
        message = f"{shown(item[again[0]])} occurs twice for the same {keys}"
        raise DataError([table.problem(int(again[0]), ITEM, message)])
    filled = np.zeros((len(needed), len(items)))
    filled[at[known], column[known]] = probability[known]
    off = np.flatnonzero(np.abs(filled.sum(axis=1) - 1) > _SUM)
    if len(off):
        of = _words(int(needed[off[0]]), by, log)
        total = filled[off[0]].sum()
        message = f"probabilities{of} sum to {total:.4g}; they must sum to 1"
        raise DataError([Problem(table.name, None, _PROBABILITY, message)])
    return TargetPolicy(name, items, filled / filled.sum(axis=1, keepdims=True), row.astype(np.int32))


def _words(code: int, by: Mapping[str, tuple[Ints, int, Ints]], log: LogArrays) -> str:
    """Return of which position and user a row is."""
    words = []
    for key in reversed(list(by)):
        n = by[key][1]
        name = (log.users if key == USER else log.positions)[code % n]
        words.append(f"{key} {name}")
        code //= n
    return f" of {' and '.join(reversed(words))}" if words else ""
