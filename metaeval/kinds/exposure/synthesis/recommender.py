"""What a recommender gains from synthetic interactions: item-kNN with and without them, on real rows only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from metaeval.kinds.exposure.synthesis.constraints import cosine_graph
from metaeval.kinds.exposure.synthesis.interactions import incidence
from metaeval.kinds.exposure.synthesis.report import TAIL
from metaeval.kinds.exposure.synthesis.synthesizer import synthesize

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from metaeval.kinds.exposure.propensity.propensities import Propensities
    from metaeval.kinds.exposure.synthesis.interactions import Interactions
    from metaeval.kinds.exposure.synthesis.options import SynthesisOptions
    from metaeval.stats.coefficients.tables import Floats, Ints

_USERS = 1_000  # served at a time
NAME = "item-knn"


class HeldOut(NamedTuple):
    """Real successes that a recommender has not seen, shape (n,) each."""

    user: Ints
    item: Ints
    weight: Floats
    """The inverse of the propensity, floored."""


def held_out(
    known: Interactions,
    train: Interactions,
    given: Propensities,
    late: NDArray[np.bool_],
    floor: float,
) -> HeldOut:
    """Return the successes among held-out rows, each user and item once, none that training has shown.

    Parameters
    ----------
    given
        The propensities of all rows.
    late
        Which rows are held out.
    """
    rows = known.rows[late[known.rows]]
    rows = rows[~np.isin(known.of.pair[rows], train.of.pair)]
    rows = rows[np.unique(known.of.pair[rows], return_index=True)[1]]
    return HeldOut(known.of.user[rows], known.of.item[rows], 1 / np.maximum(given.probability[rows], floor))


def item_knn(taken: csr_array[Any, Any], shown: csr_array[Any, Any], k: int, neighbours: int) -> Ints:
    """Recommend the items most similar to those that a user took, shape (users, k); -1 where there are fewer.

    The score of an item is the sum of its cosines with the user's items (Deshpande & Karypis 2004).

    Parameters
    ----------
    taken
        Whether a user took an item, shape (users, items).
    shown
        Whether the user was shown the item, which is then not recommended.
    """
    graph = cosine_graph(taken, neighbours)
    k = min(k, graph.shape[0])
    lists = np.full((taken.shape[0], k), -1)
    for at in range(0, len(lists), _USERS):
        part = slice(at, at + _USERS)
        score = np.round((taken[part] @ graph).toarray(), 10)  # rounding settles no tie
        score[shown[part].toarray() > 0] = 0.0
        best = np.argsort(-score, axis=1, kind="stable")[:, :k]
        lists[part] = np.where(np.take_along_axis(score, best, axis=1) > 0, best, -1)
    return lists


def recall_sums(lists: Ints, held: HeldOut, bins: Ints) -> Floats:
    """Return what `MEASURES` are ratios of, by user: shape (measures, 2, users).

    IPS-Recall@K is Σ hit / p over Σ 1 / p, over held-out successes (Yang et al. 2018, normalised by weights).
    """
    users = len(lists)
    hit = (lists[held.user] == held.item[:, None]).any(axis=1).astype(np.float64)
    tail = bins[held.item] > bins.max() - TAIL
    recommended = lists >= 0
    in_tail = (recommended & (bins[lists] > bins.max() - TAIL)).sum(axis=1)

    def by_user(values: Floats) -> Floats:
        return np.bincount(held.user, values, users).astype(np.float64)

    return np.stack(
        [
            np.stack([by_user(held.weight * hit), by_user(held.weight)]),
            np.stack([by_user(hit), by_user(np.ones(len(hit)))]),
            np.stack([by_user(hit * tail), by_user(1.0 * tail)]),
            np.stack([in_tail, recommended.sum(axis=1)]).astype(np.float64),
        ]
    )


def measures(k: int) -> tuple[str, ...]:
    """Return the names of what `recall_sums` gives."""
    return (f"IPS-Recall@{k}", f"Recall@{k}", f"Recall@{k} of the tail", "tail share of the lists")


def downstream(
    known: Interactions, given: Propensities, how: SynthesisOptions, floor: float, rounds: int
) -> Floats:
    """Return `recall_sums` of item-kNN without synthetic interactions and after each round, stacked.

    The recommender and the synthesizer learn from the earlier rows of each user alone; the synthetic
    interactions are drawn anew from these.
    """
    train, late = known.split(how.held_out)
    held = held_out(known, train, given, late, floor)
    shape = (len(known.of.users), len(known.of.items))
    shown = incidence(train.of.user, train.of.item, shape)
    made, found = None, []
    users, items = train.user, train.item
    for number in range(rounds + 1):
        if number:
            made = synthesize(train, how, made)
            users, items = np.concatenate([users, made.user]), np.concatenate([items, made.item])
            bins = made.bins
        lists = item_knn(incidence(users, items, shape), shown, how.k, how.neighbours)
        found.append(lists)
    return np.stack([recall_sums(lists, held, bins) for lists in found])
