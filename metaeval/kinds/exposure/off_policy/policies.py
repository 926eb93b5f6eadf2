"""The policies to evaluate on a log, and what its users would have done, as arrays."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pandas as pd

from metaeval.base.errors import DataError, MetaevalError, Problem, nearest, shown, sound
from metaeval.data.tables.columns import number_column, text_column
from metaeval.data.tables.table import Table, read_table
from metaeval.kinds.exposure.data.loading import POLICIES
from metaeval.kinds.exposure.data.log_set import (
    ITEM,
    OUTCOME,
    POSITION,
    PROBABILITY,
    PROPENSITY,
    TIME,
    USER,
    LogSet,
    is_policy,
)
from metaeval.kinds.exposure.propensity.propensities import Propensities, propensities_of
from metaeval.kinds.exposure.study import PropensityOptions
from metaeval.stats.coefficients.tables import Floats, Ints

_NOTHING = np.zeros((0, 0)), np.zeros(0, np.int64)
_CELLS = 2**22  # probabilities multiplied at a time
_SUM = 1e-3  # by which probabilities written with few digits may miss 1
UNIFORM = "uniform"
PREDICTION, EXPECTED = "prediction", "expected"


@dataclass(frozen=True, slots=True, eq=False)
class TargetPolicy:
    """Probabilities of items, and which of them hold in a round."""

    name: str
    items: list[str]
    """Those of the log, and further ones that only the policy knows."""
    table: Floats
    """Shape (rows, items); no rows if only the probabilities of the logged items are known."""
    row: Ints
    """The row of each round, shape (n,)."""
    of_round: Mapping[str, Floats] = field(default_factory=dict)
    """Without a table: ``probability`` and maybe ``prediction`` and ``expected`` of each round."""

    def logged(self, log: LogArrays, part: slice = slice(None)) -> Floats:
        """Return the probabilities of the items that the log shows."""
        if not len(self.table):
            return self.of_round[PROBABILITY][part]
        return np.asarray(self.table[self.row[part], log.item[part]])


@dataclass(frozen=True, slots=True, eq=False)
class Predictions:
    """Outcomes that one's own model predicts."""

    name: str
    items: list[str]
    table: Floats
    """Shape (rows, items); NaN where there is none."""
    row: Ints


def uniform(log: LogArrays) -> TargetPolicy:
    """Return the policy that shows every item alike."""
    n = len(log.items)
    return TargetPolicy(UNIFORM, list(log.items), np.full((1, n), 1 / n), np.zeros(len(log), dtype=np.int32))


def read_policy(name: str, log: LogArrays, folder: str | os.PathLike[str]) -> TargetPolicy:
    """Return the policy that is named: ``uniform``, a file, or one of the data set's own.

    A file has the columns ``item_id`` and ``probability`` and, where these differ by them, columns that
    `LogArrays.key` knows; an item that it leaves out has the probability 0. A file without ``item_id`` has
    the probability of the logged item by ``round``, as a column ``probability_NAME`` of the log has. Raises
    `MetaevalError` if there is no such policy; with file, row and column of what is wrong with it.
    """
    place = policy_place(name, folder, () if log.table is None else log.table)
    if place is None:
        return uniform(log)
    if isinstance(place, str) and log.table is not None:
        known = {PROBABILITY: log.table[place].to_numpy(np.float64)}
        return TargetPolicy(name, list(log.items), *_NOTHING, known)
    return policy_of(sound(read_table(Path(place))), log, Path(place).stem)


def policy_place(name: str, folder: str | os.PathLike[str], columns: Iterable[object]) -> Path | str | None:
    """Return the file of the policy that is named, or its column of the log, or None for ``uniform``.

    Raises `MetaevalError` if there is none.
    """
    own = policies_in(folder, columns)
    place: Path | str | None = Path(name) if Path(name).is_file() else own.get(name)
    if place is None and name != UNIFORM:
        names = [UNIFORM, *own]
        raise MetaevalError(
            f"there is no policy and no file {name!r}{nearest(name, names)}; give a file, or one of "
            f"{', '.join(names)}"
        )
    return None if name == UNIFORM else place


def policies_in(folder: str | os.PathLike[str], columns: Iterable[object]) -> dict[str, Path | str]:
    """Return the policies that came with a data set: name → file, or column of the log."""
    files = {path.stem: path for path in sorted((Path(folder) / POLICIES).glob("*.*"))}
    return {str(c).removeprefix(f"{PROBABILITY}_"): str(c) for c in columns if is_policy(c)} | files


def policy_of(table: Table, log: LogArrays, name: str) -> TargetPolicy:
    """Return the policy in a table; see `read_policy`."""
    if ITEM not in table.frame and ROUND in table.frame:
        more = [c for c in (PREDICTION, EXPECTED) if c in table.frame]
        keyed = _keyed(table, log, [PROBABILITY, *more])
        if len(lacking := np.flatnonzero(np.isnan(keyed.numbers[0, :, 0]))):
            raise DataError([Problem(table.name, None, ROUND, f"has no row for {keyed.place(lacking[0])}")])
        known = dict(zip((PROBABILITY, *more), keyed.numbers[:, keyed.row, 0], strict=True))
        return TargetPolicy(name, list(log.items), *_NOTHING, known)
    keyed = _keyed(table, log, [PROBABILITY])
    filled = np.nan_to_num(keyed.numbers[0])
    total = filled.sum(axis=1)
    off = np.flatnonzero(np.abs(total - 1) > _SUM)
    if len(off):
        where = keyed.place(off[0])
        message = f"probabilities{where and f' of {where}'} sum to {total[off[0]]:.4g}; they must sum to 1"
        raise DataError([Problem(table.name, None, PROBABILITY, message)])
    return TargetPolicy(name, keyed.items, filled / total[:, None], keyed.row.astype(np.int32))


def read_predictions(path: Path, log: LogArrays) -> Predictions:
    """Return one's own predictions of outcomes: a table as that of a policy, with ``prediction``."""
    if not path.is_file():
        raise MetaevalError(f"there is no file of predictions {str(path)!r}")
    keyed = _keyed(sound(read_table(path)), log, [PREDICTION])
    return Predictions(path.name, keyed.items, keyed.numbers[0], keyed.row)


def predicted(log: LogArrays, policy: TargetPolicy, own: Predictions | None) -> tuple[Floats, Floats] | None:
    """Return what one's own model predicts: of logged items, and on average over those of a policy.

    None if there are no such predictions. Raises `MetaevalError` if one that is needed is missing.
    """
    if not len(policy.table):
        known = policy.of_round
        return (known[PREDICTION], known[EXPECTED]) if {PREDICTION, EXPECTED} <= set(known) else None
    if own is None:
        return None
    at = pd.Index(own.items).get_indexer(pd.Index(policy.items))
    outcomes = np.where(at >= 0, own.table[:, at], np.nan)
    meeting, first = numbered([policy.row, own.row])
    expected, step = np.empty(len(first)), max(1, _CELLS // len(policy.items))
    for start in range(0, len(first), step):
        some = first[start : start + step]
        share, outcome = policy.table[policy.row[some]], outcomes[own.row[some]]
        expected[start : start + step] = np.where(share > 0, share * outcome, 0.0).sum(axis=1)
    of_logged, of_policy = outcomes[own.row, log.item], expected[meeting]
    if len(lacking := np.flatnonzero(np.isnan(of_logged + of_policy))):
        row = lacking[0]
        share = (policy.table[policy.row[row]] > 0) | (np.arange(len(policy.items)) == log.item[row])
        item = policy.items[int(np.flatnonzero(share & np.isnan(outcomes[own.row[row]]))[0])]
        raise MetaevalError(
            f"{own.name} has no {PREDICTION} of the item {item!r} for round {row + 1} of the log"
        )
    return of_logged, of_policy


@dataclass(frozen=True, slots=True, eq=False)
class _Keyed:
    """Values by item, and which of them hold in a round."""

    items: list[str]
    numbers: Floats
    """Shape (columns, rows, items); NaN where the table says nothing."""
    row: Ints
    keys: Mapping[str, tuple[Sequence[str], Ints]]
    """Names, and the code of each round."""

    def place(self, row: int) -> str:
        """Say for which rounds a row holds; "" if it holds for all."""
        at = int(np.flatnonzero(self.row == row)[0])
        return " and ".join(f"{key} {names[codes[at]]}" for key, (names, codes) in self.keys.items())


def _keyed(table: Table, log: LogArrays, columns: Sequence[str]) -> _Keyed:
    """Read numbers by item, and by what else the table has that rounds differ by."""
    for column in (*columns, *([ITEM] if ROUND not in table.frame or columns == [PREDICTION] else [])):
        if column not in table.frame:
            needs = "a policy" if columns[0] == PROBABILITY else "a table of predictions"
            raise DataError([Problem(table.name, None, None, f"has no column {column!r}; {needs} needs it")])
    by_item = ITEM in table.frame
    item, problems = text_column(table, ITEM) if by_item else (np.array([""] * len(table.frame)), [])
    numbers = []
    for column in columns:
        number, more = number_column(table, column)
        wrong = ~((number >= 0) & (number <= 1)) if column == PROBABILITY else np.isnan(number)
        what = "is not a number from 0 to 1" if column == PROBABILITY else "is not a number"
        problems += more + [table.problem(int(i), column, what) for i in np.flatnonzero(wrong)[:20]]
        numbers.append(number)
    keys, places = {}, []
    for name in map(str, table.frame.columns):
        key = None if name in (ITEM, *columns) else log.key(name)
        if key is None and name == USER:
            problems.append(Problem(table.name, None, name, "names users, and the log has none"))
        elif key is not None:
            text, more = text_column(table, name)
            problems += more
            keys[name] = key
            places.append(pd.Index(key[0]).get_indexer(pd.Index(text)))
    if problems:
        raise DataError(problems)
    items = [*log.items, *sorted(set(item) - set(log.items))] if by_item else [""]
    code, row = np.zeros(len(item), np.int64), np.zeros(len(log), np.int64)
    known = np.ones(len(item), dtype=bool)
    for place, (names, of_round) in zip(places, keys.values(), strict=True):
        code, row = code * len(names) + place, row * len(names) + of_round
        known &= place >= 0  # what no round of the log needs
    needed, row = np.unique(row, return_inverse=True)
    known &= np.isin(code, needed)
    at, at_item = np.searchsorted(needed, code), pd.Index(items).get_indexer(pd.Index(item))
    again = np.flatnonzero(known & pd.DataFrame({"row": at, "item": at_item}).duplicated().to_numpy())
    if len(again):
        message = f"{shown(item[again[0]])} occurs twice for the same {' and '.join([ITEM, *keys])}"
        raise DataError([table.problem(int(again[0]), ITEM, message)])
    values = np.full((len(columns), len(needed), len(items)), np.nan)
    values[:, at[known], at_item[known]] = np.stack(numbers)[:, known]
    return _Keyed(items, values, row, keys)


_PART = 2**20  # rounds worked on at a time
_LEAST = 1e-100  # propensities below have weights whose squares are no floats; all such rounds are refused
_BINS = 5  # of a context that is a number
_CATEGORIES = 50  # of a context that is text; the rarer ones stand together
ROUND = "round"


@dataclass(frozen=True, slots=True, eq=False)
class LogArrays:
    """Rounds of a log, shape (n,) each; names stand once, and rounds have their codes."""

    outcome: Floats
    propensity: Floats
    item: Ints
    items: Sequence[str]
    """All that a policy may choose: the items of the table ``items``, or else those of the log."""
    position: Ints
    positions: Sequence[int]
    """1 alone, where the log has none."""
    cluster: Ints
    n_clusters: int
    """Users, or the rounds themselves where the log has no users."""
    users: Sequence[str] = ()
    context: Mapping[str, Ints] = field(default_factory=dict)
    count: Floats | None = None
    """How often a round counts, if not once: see `metaeval.stats.off_policy.estimators.Rounds`."""
    propensities: Propensities | None = None
    """Those that ``propensity`` is made of, as the data set has them."""
    table: pd.DataFrame | None = None
    """The log itself, of whose columns policies may depend."""
    sample: Floats | None = None
    """The random sample: sums of outcomes by user, and how many there are, shape (2, users)."""

    def __len__(self) -> int:
        """Return the number of rounds."""
        return len(self.outcome)

    @property
    def source(self) -> str:
        """Where propensities come from."""
        return "logged" if self.propensities is None else self.propensities.source

    @property
    def fitted(self) -> bool:
        """Whether propensities were fitted, and not logged."""
        return self.source != "logged"

    def key(self, column: str) -> tuple[Sequence[str], Ints] | None:
        """Return names, and the code of each round, of what policies may depend on; None of anything else.

        ``position``, ``user_id``, columns of the context and fields of profiles; and ``round``: the log's
        column of that name, or else the number of the row, from 1.
        """
        if column == POSITION:
            return [str(p) for p in self.positions], self.position
        if column == USER and len(self.users):
            return self.users, self.cluster
        if self.table is not None and column in self.table and column not in _OWN:
            codes, names = pd.factorize(self.table[column].astype("str"))
            return names.tolist(), codes
        if column == ROUND:
            return [str(n) for n in range(1, len(self) + 1)], np.arange(len(self))
        if self.propensities is not None and column in (profiles := self.propensities.log.profiles):
            codes, names = pd.factorize(profiles[column].fillna("").astype("str"))
            return names.tolist(), codes[self.cluster]
        return None

    def refitted(self, users: Floats) -> LogArrays:
        """Return the same with propensities fitted again, each user counted so many times; or logged ones."""
        if self.propensities is None or not self.fitted:
            return self
        propensities = self.propensities.refitted(users)
        return replace(self, propensity=_of_rounds(propensities), propensities=propensities)

    def parts(self) -> Iterator[slice]:
        """Yield the rounds, so many at a time that what is made of them stays small."""
        for first in range(0, len(self), _PART):
            yield slice(first, first + _PART)


_OWN = {ITEM, TIME, OUTCOME, PROPENSITY}


def arrays_of(data: LogSet, propensities: Propensities | None = None) -> LogArrays:
    """Return the rounds of a log with their propensities; `MetaevalError` if there are none.

    Fitted ones, and some logged ones, are of pairs of a user and an item. A policy then serves all users
    alike, and a round counts by how few its user has.
    """
    log = data.log
    propensities = propensities or propensities_of(data, PropensityOptions(source="logged"))
    rows, count = propensities.log, None
    if propensities.exposure == "pair":
        count = len(log) / len(rows.users) / np.bincount(rows.user)[rows.user]
    positions, codes = np.array([1]), np.zeros(len(log), dtype=np.int64)
    if POSITION in log:
        positions, codes = np.unique(log[POSITION].to_numpy(np.int32), return_inverse=True)
    own = {*_OWN, USER, POSITION, ROUND, *filter(is_policy, log)}
    sample = None
    if data.test is not None:
        sample = data.test.groupby(USER)[OUTCOME].agg(["sum", "count"]).to_numpy(np.float64).T
    return LogArrays(
        rows.outcome,
        _of_rounds(propensities),
        rows.item,
        rows.items.tolist(),
        codes.astype(np.int32),
        positions.tolist(),
        rows.user,
        rows.n_clusters,
        rows.users.tolist(),
        {str(name): context_codes(log[name]) for name in log if name not in own},
        count,
        propensities,
        log,
        sample,
    )


def _of_rounds(propensities: Propensities) -> Floats:
    """Return the propensity of each round.

    A round is one of the k of a pair of a user and an item, which has the propensity p, and of the n of a log
    of U users: given its user, its propensity is p k U / n.
    """
    probability, rows = np.maximum(propensities.probability, _LEAST), propensities.log
    if propensities.exposure == "pair":
        probability *= rows.repeats / (len(rows) / len(rows.users))
    return probability


def numbered(codes: Sequence[Ints]) -> tuple[Ints, Ints]:
    """Return a number for each combination of codes that there is, and the first round that has it."""
    frame = pd.DataFrame(dict(enumerate(codes)))
    numbers = frame.groupby([*frame], sort=False).ngroup().to_numpy(np.int32)
    return numbers, np.flatnonzero(~frame.duplicated())


def context_codes(values: pd.Series[str]) -> Ints:
    """Return codes: fifths of numbers, by quantiles; the 50 most frequent texts, and one for the others."""
    codes, names = pd.factorize(values, sort=True, use_na_sentinel=False)
    numbers = pd.to_numeric(pd.Series(names), errors="coerce").to_numpy(np.float64)
    count = np.bincount(codes)
    if len(names) > _BINS and np.isfinite(numbers).all():
        order = np.argsort(numbers)
        below = np.cumsum(count[order]) / len(codes)
        place = np.empty(len(names), dtype=np.int32)
        place[order] = np.minimum(np.concatenate([[0.0], below[:-1]]) * _BINS, _BINS - 1).astype(np.int32)
    else:
        kept = np.argsort(-count, kind="stable")[:_CATEGORIES]
        place = np.full(len(count), len(kept), dtype=np.int32)
        place[kept] = np.arange(len(kept))
    return place[codes]
