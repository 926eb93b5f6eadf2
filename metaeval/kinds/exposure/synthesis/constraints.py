"""Which steps from item to item are plausible: transitions of genres, and similar items."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array, diags_array, vstack

from metaeval.stats.resampling.cluster_sums import ratio

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from metaeval.kinds.exposure.synthesis.interactions import Interactions
    from metaeval.stats.coefficients.tables import Floats, Ints

_BLOCK = 2**17  # steps counted at a time
_ITEMS = 1_000  # items whose similarities are worked out at a time


def transition_counts(first: Ints, second: Ints, has: Floats) -> Floats:
    """Count transitions of genres, shape (genres, genres), the first item's in rows.

    A step counts once: in equal parts for every genre of its first item and every one of its second item.

    Parameters
    ----------
    first, second
        Items of each step.
    has
        Whether an item has a genre, shape (items, genres).
    """
    part = ratio(has, has.sum(axis=1, keepdims=True))
    part[np.isnan(part)] = 0.0
    counts = np.zeros((has.shape[1], has.shape[1]))
    for at in range(0, len(first), _BLOCK):
        counts += part[first[at : at + _BLOCK]].T @ part[second[at : at + _BLOCK]]
    return counts


def steps_of(user: Ints, item: Ints) -> tuple[Ints, Ints]:
    """Return the first and the second item of consecutive interactions of a user."""
    same = user[1:] == user[:-1]
    return item[:-1][same], item[1:][same]


def probabilities(counts: Floats) -> Floats:
    """Return the probability of each genre after a genre; 0 after one that nothing follows."""
    return np.nan_to_num(ratio(counts, counts.sum(axis=1, keepdims=True)))


def cosine_graph(taken: csr_array[Any, Any], neighbours: int) -> csr_array[Any, Any]:
    """Return the cosine of every item and those most like it, shape (items, items).

    Parameters
    ----------
    taken
        Whether a user took an item, shape (users, items).
    neighbours
        How many are kept of each item; of equals, those that come first.
    """
    length = np.sqrt(np.asarray(taken.sum(axis=0)).ravel())
    unit = csr_array((taken @ diags_array(1 / np.maximum(length, 1.0))).T)
    found: csr_array[Any, Any] = vstack(
        [_largest(unit[at : at + _ITEMS] @ unit.T, at, neighbours) for at in range(0, unit.shape[0], _ITEMS)],
        format="csr",
    )
    return found


def _largest(block: csr_array[Any, Any], start: int, neighbours: int) -> csr_array[Any, Any]:
    """Keep the largest values of each row, but for the item itself."""
    found = block.tocoo()
    row, column, value = found.row, found.col, np.round(found.data, 12)  # rounding settles no tie
    other = column != row + start
    row, column, value = row[other], column[other], value[other]
    order = np.lexsort((column, -value, row))
    row, column, value = row[order], column[order], value[order]
    count = np.bincount(row, minlength=block.shape[0])
    kept = np.arange(len(row)) - np.repeat(np.cumsum(count) - count, count) < neighbours
    return csr_array((value[kept], (row[kept], column[kept])), shape=block.shape)


@dataclass(frozen=True, slots=True, eq=False)
class Constraints:
    """What a log says of steps."""

    transitions: Floats
    """Probability of a genre (column) after another (row)."""
    has: Floats
    follows: Floats
    """The highest probability of a genre after any of an item, shape (items, genres)."""
    pairs: Ints
    """First and second item of each edge of the graph, as one number, rising."""
    cosines: Floats

    @classmethod
    def of(cls, known: Interactions, neighbours: int) -> Constraints:
        """Estimate both from interactions."""
        found = probabilities(transition_counts(*steps_of(known.user, known.item), known.has))
        follows = np.zeros_like(known.has)
        for genre, row in enumerate(found):
            has = known.has[:, genre] > 0
            follows[has] = np.maximum(follows[has], row)
        graph = cosine_graph(known.taken, neighbours).tocoo()
        pairs = graph.row.astype(np.int64) * graph.shape[1] + graph.col
        order = np.argsort(pairs)
        return cls(found, known.has, follows, pairs[order], graph.data[order])

    def transition(self, first: Ints, second: Ints) -> Floats:
        """Return the probability of steps: the highest over the genres of both items."""
        return np.asarray((self.follows[first] * self.has[second]).max(axis=1))

    def similarity(self, first: Ints, second: Ints) -> Floats:
        """Return the cosines of steps; 0 where the second item is no neighbour of the first."""
        if not len(self.pairs):
            return np.zeros(len(first))
        wanted = first.astype(np.int64) * len(self.has) + second
        place = np.minimum(np.searchsorted(self.pairs, wanted), len(self.pairs) - 1)
        return np.where(self.pairs[place] == wanted, self.cosines[place], 0.0)


def passes(constraint: str, by_transition: NDArray[np.bool_], by_similarity: NDArray[np.bool_]) -> Any:  # noqa: ANN401
    """Return which steps pass."""
    return {
        "either": by_transition | by_similarity,
        "both": by_transition & by_similarity,
        "transition": by_transition,
        "similarity": by_similarity,
        "none": np.ones_like(by_transition),
    }[constraint]
