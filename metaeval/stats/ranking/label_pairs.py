"""Do scores order two units of a group as their labels do? Counts of pairs, by the two labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from metaeval.stats.coefficients.tables import Floats, Ints

_DENSE = 4  # cells per unit at most, where every score of every group gets a cell of its own


class LabelPairs(NamedTuple):
    """Pairs of units of a group, one of each of two labels; arrays have shape (n_groups,)."""

    high: int
    low: int
    """The two labels, as positions on the scale."""
    agree: Floats
    """Pairs in which the unit of the higher label has the higher score."""
    tie: Floats
    """Pairs of equal scores."""
    pairs: Floats
    """All pairs."""


def label_pairs(scores: Floats, labels: Ints, k: int, group: Ints, n_groups: int) -> Iterator[LabelPairs]:
    """Count pairs of units of a group with different labels, for every two labels.

    Units are counted by group, score and label once; the pairs follow from the counts, without looking at a
    pair.

    Parameters
    ----------
    scores, labels, group
        Shape (n,): scores, labels as positions in ``range(k)``, and groups in ``range(n_groups)``.
    """
    cell, of_cell = _cells(scores, group, n_groups)
    counts = np.stack([np.bincount(cell[labels == label], minlength=len(of_cell)) for label in range(k)])
    counts = counts.astype(np.float64)
    # How many units of each label have a lower score in the same group; cells are ordered by group and score.
    first = np.searchsorted(of_cell, np.arange(n_groups))
    below = np.cumsum(counts, axis=1) - counts
    padded = np.pad(below, ((0, 0), (0, 1)))  # a last group without cells
    below -= padded[:, first][:, of_cell]
    of_group = [np.bincount(of_cell, row, n_groups).astype(np.float64) for row in counts]
    for high in range(k):
        for low in range(high):
            agree, tie = (
                np.bincount(of_cell, counts[high] * of_low[low], n_groups).astype(np.float64)
                for of_low in (below, counts)
            )
            yield LabelPairs(high, low, agree, tie, of_group[high] * of_group[low])


def _cells(scores: Floats, group: Ints, n_groups: int) -> tuple[Ints, Ints]:
    """Return the cell of each unit, of one group and score, and the group of each cell."""
    if not len(scores):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    least, most = scores.min(), scores.max()
    if n_groups * (most - least + 1) <= _DENSE * len(scores) and not (scores % 1).any():
        width = int(most - least) + 1
        return group * width + (scores - least).astype(np.int64), np.repeat(np.arange(n_groups), width)
    order = np.lexsort((scores, group))
    new = np.ones(len(order), dtype=bool)
    new[1:] = (np.diff(group[order]) != 0) | (np.diff(scores[order]) != 0)
    cell = np.empty(len(order), dtype=np.int64)
    cell[order] = np.cumsum(new) - 1
    return cell, group[order][new]
