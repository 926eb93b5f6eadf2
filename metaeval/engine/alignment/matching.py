"""Which unit each row of two long frames speaks of, as one number per row.

Rows are matched by sorting 64-bit keys, not by hashing strings a second time: a frame of ten million rows is
joined in a few passes over its memory.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from metaeval.base.errors import DataError, shown
from metaeval.stats.coefficients.tables import Ints, changes, lengths

_RUNS = 10_000  # of equal values, up to which each is looked at by itself
_LOOKUP = 2**20  # key spaces up to about this size are looked up in a table


@dataclass(frozen=True, slots=True)
class Codes:
    """Codes of one key column in both frames; -1 in the scores for what the truth does not know."""

    truth: Ints
    scores: Ints
    labels: pd.Index[Any]
    """Shape (n,): what each code stands for."""

    @property
    def n(self) -> int:
        """Number of codes."""
        return len(self.labels)


def shared_codes(truth: pd.Series[Any], scores: pd.Series[Any], name: str) -> Codes:
    """Return codes of a key column that mean the same in both frames.

    Raises `DataError` if a key is empty, or no key of the scores is in the truth.
    """
    codes, distinct = pd.factorize(truth.array)
    codes = codes.astype(np.int32)
    refuse_empty(codes, name, "the truth")
    if times := _times(truth.array, scores.array):
        return Codes(codes, codes if times == 1 else np.tile(codes, times), pd.Index(distinct))
    own, own_distinct = pd.factorize(scores.array)
    refuse_empty(own, name, "the scores")
    labels = pd.Index(distinct)
    known = labels.get_indexer(pd.Index(own_distinct)).astype(np.int32)
    if not (known >= 0).any():
        raise DataError(
            f"no {name} of the scores is in the truth: they have {shown(own_distinct[0])} ({scores.dtype}), "
            f"it has {shown(distinct[0])} ({truth.dtype})"
        )
    return Codes(codes, known[own], labels)


def refuse_empty(codes: Ints, column: str, name: str, row_name: Callable[[int], int | str] = int) -> None:
    """Raise `DataError` if a value of a column is missing: its code is negative."""
    if (codes < 0).any():
        row = row_name(int((codes < 0).argmax()))
        raise DataError(f"column {column!r} of {name} is empty in row {row}")


def _times(one: Any, several: Any) -> int:  # noqa: ANN401 - arrays of pandas
    """Return how often an array holds another one, whole and nothing else; 0 if it does not.

    Mostly each evaluator has a row per row of the truth, in its order; to see so is faster than numbering.
    """
    n = len(one)
    if not n or len(several) % n or one.dtype != several.dtype:
        return 0
    starts = range(0, len(several), n)
    return len(starts) if all(several[at : at + n].equals(one) for at in starts) else 0


def numbered_runs(array: Any) -> tuple[Ints, Any]:  # noqa: ANN401 - an array of pandas
    """Return what `pandas.factorize` does, faster where equal values follow each other."""
    fresh = pd.Series(array[1:] != array[:-1]).fillna(True).to_numpy(dtype=bool)
    first = np.append(0, np.flatnonzero(fresh) + 1)[: len(array)]
    if len(first) > _RUNS:
        return pd.factorize(array)
    heads = pd.array([array[at] for at in first.tolist()], dtype=array.dtype)
    codes, distinct = pd.factorize(heads)
    return np.repeat(codes, lengths(first, len(array))), distinct


def combined(codes: list[Codes], n_truth: int, n_scores: int) -> tuple[Ints, Ints, int]:
    """Combine the codes of the keys into one number per row; negative for units that the truth lacks."""
    space = 1
    of_truth = np.zeros(n_truth, dtype=np.int64)
    same = all(c.truth is c.scores for c in codes)
    of_scores = of_truth if same else np.zeros(n_scores, dtype=np.int64)
    unknown = None if same else np.zeros(n_scores, dtype=bool)
    for c in codes:
        space *= c.n
        if space >= 2**62:
            raise DataError("there are too many users, items and generators to number their combinations")
        of_truth *= c.n
        of_truth += c.truth
        if unknown is not None:
            of_scores *= c.n
            of_scores += c.scores
            unknown |= c.scores < 0
    if unknown is not None:
        of_scores[unknown] = -1
    return of_truth, of_scores, space


def numbered(keys: Ints) -> tuple[Ints, Ints]:
    """Return the distinct keys in order, and the index among them of every key."""
    order, ordered = _sorted(keys)
    fresh = changes(ordered)
    index: Ints = np.cumsum(fresh, dtype=index_type(len(keys)))
    index -= index.dtype.type(1)
    if order is not None:
        in_order = index
        index = np.empty_like(in_order)
        index[order] = in_order
    return (ordered if fresh.all() else ordered[fresh]), index


def index_type(n: int) -> type[np.int32 | np.int64]:
    """Return the type of numbers below ``n``."""
    return np.int32 if n < 2**31 else np.int64


def _sorted(keys: Ints) -> tuple[Ints | None, Ints]:
    """Return the order that sorts non-negative keys (None: they are sorted), and the sorted keys.

    Key and row number go into one word where they fit, because sorting plain numbers is several times as
    fast as sorting an index.
    """
    n = len(keys)
    if (keys[1:] >= keys[:-1]).all():
        return None, keys
    bits = (n - 1).bit_length()
    if int(keys.max()).bit_length() + bits <= 63:
        packed = keys << bits
        packed |= np.arange(n)
        packed.sort()
        order = packed & ((1 << bits) - 1)
        packed >>= bits
        return order, packed
    order = np.argsort(keys, kind="stable")
    return order, keys[order]


def locate(keys: Ints, unit_keys: Ints, space: int) -> Ints:
    """Return the index of each key among the sorted ``unit_keys``; -1 where it is not there."""
    if space <= 4 * max(len(keys), len(unit_keys)) + _LOOKUP:
        table = np.full(space + 1, -1, dtype=index_type(len(unit_keys)))  # the last entry answers the key -1
        table[unit_keys] = np.arange(len(unit_keys))
        return table[keys]
    order, ordered = _sorted(np.where(keys < 0, space, keys))
    if np.array_equal(ordered, unit_keys):  # the usual case: the same units, in another order
        place: Ints = np.arange(len(ordered), dtype=index_type(len(ordered)))
    else:
        place = np.minimum(np.searchsorted(unit_keys, ordered), len(unit_keys) - 1)
        place[unit_keys[place] != ordered] = -1
    if order is None:
        return place
    found = np.empty(len(keys), dtype=index_type(len(unit_keys)))
    found[order] = place
    return found
