"""Effectiveness of ranked lists by labels of their items: the common measures, all lists at once.

Each measure takes `JudgedLists` and returns one value per list, equal to that of ``ir_measures`` (a test
holds them to it). An unjudged item counts as not relevant, an empty list as 0, and so does a list of whose
user nothing relevant is known. ``rel`` is the lowest label that is relevant, ``cutoff`` how much of a list is
read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from metaeval.stats.coefficients.tables import Floats, Ints

_EPSILON = 0.00001  # trec_eval's smoothing of inferred average precision
POOLED = -1.0
"""The label of what was pooled and not judged, by TREC's convention; trec_eval reads all below 0 so."""


@dataclass(frozen=True, slots=True, eq=False)
class JudgedLists:
    """One ranked list per user, with the labels of its items."""

    labels: Floats
    """Shape (lists, depth), the first item first; NaN for an unjudged item, and behind the end of a list."""
    lengths: Ints
    """Shape (lists,)."""
    grades: Floats
    """Shape (grades,): the labels that there are, ascending."""
    counts: Ints
    """Shape (lists, grades): how many items have each label, in the list or not."""

    def first(self, cutoff: int | None) -> Floats:
        """Return the labels of the first ``cutoff`` items, or of all."""
        return self.labels[:, :cutoff]

    def relevant(self, rel: float, cutoff: int | None = None) -> NDArray[np.bool_]:
        """Say which items of the lists are relevant, shape (lists, depth)."""
        return self.first(cutoff) >= rel

    def irrelevant(self, rel: float) -> NDArray[np.bool_]:
        """Say which items of the lists are judged, 0 or more, and not relevant, shape (lists, depth)."""
        return np.asarray((self.labels < rel) & (self.labels >= 0))

    def n_relevant(self, rel: float) -> Ints:
        """Return how many relevant items are known, in the list or not."""
        return np.asarray(self.counts[:, self.grades >= rel].sum(axis=1))

    def condensed(self) -> JudgedLists:
        """Return the lists without their unjudged items, and those with a label below 0."""
        judged = self.labels >= 0
        order = np.argsort(~judged, axis=1, kind="stable")
        packed = np.take_along_axis(self.labels, order, axis=1)
        return JudgedLists(packed, judged.sum(axis=1), self.grades, self.counts)


def ndcg(
    lists: JudgedLists,
    *,
    cutoff: int | None = None,
    dcg: str = "log2",
    gains: Mapping[int, float] | None = None,
) -> Floats:
    """Compute the normalised discounted cumulative gain (Järvelin & Kekäläinen 2002).

    With ``log2``, the gain is the label, discounted by log2(rank + 1); with ``exp-log2`` it is 2**label - 1;
    ``jk`` has Järvelin and Kekäläinen's own discount, 1 at ranks 1 and 2 and then log2(rank), as in LensKit.
    ``gains`` has other gains by label; a negative one counts as 0.
    """

    def gain_of(labels: Floats) -> Floats:
        gain = np.nan_to_num(labels)
        for label, instead in (gains or {}).items():
            gain = np.where(labels == label, instead, gain)
        gain = np.maximum(gain, 0.0)
        return np.asarray(2.0**gain - 1 if dcg == "exp-log2" else gain)

    # Without a cutoff the ideal list has all relevant items, more than the list may be long.
    longest = cutoff or max(lists.labels.shape[1], int(lists.counts.sum(axis=1).max(initial=0)))
    ranks = np.arange(1, longest + 1)
    discount = 1 / (np.log2(np.maximum(ranks, 2)) if dcg == "jk" else np.log2(ranks + 1))
    labels = lists.first(cutoff)
    gained = np.asarray(gain_of(labels) @ discount[: labels.shape[1]])
    of_grade = gain_of(lists.grades)
    best_first = np.argsort(-of_grade, kind="stable")
    ends = np.minimum(np.cumsum(lists.counts[:, best_first], axis=1), longest)
    reached = np.append(0.0, np.cumsum(discount))[ends]
    ideal = np.diff(reached, axis=1, prepend=0.0) @ of_grade[best_first]
    return _over(gained, ideal)


def precision(lists: JudgedLists, *, cutoff: int, rel: float = 1) -> Floats:
    """Share of the first ``cutoff`` items that is relevant."""
    return np.asarray(lists.relevant(rel, cutoff).sum(axis=1) / cutoff)


def recall(lists: JudgedLists, *, cutoff: int, rel: float = 1) -> Floats:
    """Share of the relevant items that is among the first ``cutoff``."""
    return _over(lists.relevant(rel, cutoff).sum(axis=1), lists.n_relevant(rel))


def success(lists: JudgedLists, *, cutoff: int, rel: float = 1) -> Floats:
    """1 if any of the first ``cutoff`` items is relevant, else 0."""
    return np.asarray(lists.relevant(rel, cutoff).any(axis=1), dtype=np.float64)


def reciprocal_rank(lists: JudgedLists, *, cutoff: int | None = None, rel: float = 1) -> Floats:
    """1 over the rank of the first relevant item."""
    hits = lists.relevant(rel, cutoff)
    return np.asarray(np.where(hits.any(axis=1), 1 / (hits.argmax(axis=1) + 1), 0.0))


def average_precision(lists: JudgedLists, *, cutoff: int | None = None, rel: float = 1) -> Floats:
    """Mean over the relevant items of the precision at their ranks; 0 for those not in the list."""
    hits = lists.relevant(rel, cutoff)
    at = np.cumsum(hits, axis=1) / np.arange(1, hits.shape[1] + 1)
    return _over((at * hits).sum(axis=1), lists.n_relevant(rel))


def rank_biased_precision(
    lists: JudgedLists, *, p: float = 0.8, rel: float = 1, cutoff: int | None = None
) -> Floats:
    """Relevance at a reader's place, who goes on to the next with probability p (Moffat & Zobel 2008)."""
    hits = lists.relevant(rel, cutoff)
    return np.asarray((1 - p) * (hits @ p ** np.arange(hits.shape[1], dtype=np.float64)))


def judged(lists: JudgedLists, *, cutoff: int | None = None) -> Floats:
    """Share of the first ``cutoff`` items that has a label."""
    labels = lists.first(cutoff)
    read = np.minimum(lists.lengths, labels.shape[1])
    return _over((~np.isnan(labels)).sum(axis=1), read)


def bpref(lists: JudgedLists, *, rel: float = 1) -> Floats:
    """Share of judged irrelevant items that rank below relevant ones (Buckley & Voorhees 2004)."""
    hits, misses = lists.relevant(rel), lists.irrelevant(rel)
    n = lists.n_relevant(rel)
    n_not = lists.counts[:, (lists.grades < rel) & (lists.grades >= 0)].sum(axis=1)
    above = np.minimum(np.cumsum(misses, axis=1), n[:, None])
    lost = np.divide(above, np.minimum(n, n_not)[:, None], out=np.zeros(above.shape), where=above > 0)
    return _over((hits * (1 - lost)).sum(axis=1), n)


def inferred_ap(lists: JudgedLists, *, rel: float = 1) -> Floats:
    """Average precision inferred where only a sample of the pool was judged (Yilmaz & Aslam 2006).

    What was pooled and not judged has a label below 0. What was not pooled counts as not relevant.
    """
    hits, misses = lists.relevant(rel), lists.irrelevant(rel)
    good: Ints = np.cumsum(hits, axis=1) - hits  # above each rank
    bad, pooled = np.cumsum(misses, axis=1), np.cumsum(lists.labels < 0, axis=1)
    share = (good + _EPSILON) / (good + bad + 2 * _EPSILON)
    at = (1 + (good + bad + pooled) * share) / np.arange(1, hits.shape[1] + 1)
    return _over((at * hits).sum(axis=1), lists.n_relevant(rel))


def compatibility(
    lists: JudgedLists, *, p: float = 0.95, normalize: bool = True, depth: int | str = "longest"
) -> Floats:
    """Rank-biased overlap with the nearest ideal list (Clarke, Vtyurina & Smucker 2021, TOIS 39, 2).

    The ideal list has all items with a label above 0, the higher ones first; items of one label come in the
    order of the list, then those that are not in it. Both are compared to the end of the longer one, or down
    to a ``depth`` beyond their ends, which is 1,000 in the authors' program. ``p`` is the weight of each
    further rank; if ``normalize``, the overlap is divided by that of the ideal list with itself.
    """
    positive = np.flatnonzero(lists.grades > 0)
    n = lists.counts[:, positive].sum(axis=1)
    ends = np.maximum(lists.lengths, n) if depth == "longest" else np.full(len(n), depth, dtype=np.int64)
    n = np.minimum(n, ends)
    weights = p ** np.arange(ends.max(initial=0), dtype=np.float64)
    to_rank = np.append(0.0, np.cumsum(weights))
    by_rank = np.append(0.0, np.cumsum(weights / np.arange(1, len(weights) + 1)))
    # An item that both lists have at depth m counts 1 / depth at every depth from there on.
    overlap, above = np.zeros(len(n)), np.zeros(len(n), dtype=np.int64)
    for k in positive[::-1]:
        cell = np.flatnonzero(lists.labels == lists.grades[k])
        row = cell // lists.labels.shape[1]
        of_row = np.bincount(row, minlength=len(n))
        place = np.arange(len(row)) + (above - np.cumsum(of_row) + of_row)[row]
        before = by_rank[np.minimum(np.maximum(cell - row * lists.labels.shape[1], place), ends[row])]
        overlap += of_row * by_rank[ends] - np.bincount(row, before, len(n))
        above += lists.counts[:, k]
    best = to_rank[n] + n * (by_rank[ends] - by_rank[n]) if normalize else to_rank[ends]
    return _over(overlap, best)


MEASURES: dict[str, Callable[..., Floats]] = {
    "nDCG": ndcg,
    "P": precision,
    "R": recall,
    "Success": success,
    "RR": reciprocal_rank,
    "AP": average_precision,
    "RBP": rank_biased_precision,
    "Judged": judged,
    "Bpref": bpref,
    "infAP": inferred_ap,
    "Compat": compatibility,
}
"""The name of each in ``ir_measures``."""


def _over(above: Floats | Ints, below: Floats | Ints) -> Floats:
    """Return above / below; 0 where below is."""
    return np.asarray(np.divide(above, below, out=np.zeros(len(above)), where=below > 0))
