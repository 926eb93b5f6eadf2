"""What a recommender gains from synthetic interactions: item-kNN with and without them, on real rows only."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from metaeval.base.errors import MetaevalError
from metaeval.kinds.exposure.data.log_set import ITEM, USER
from metaeval.kinds.exposure.propensity.features import popularity_bins
from metaeval.kinds.exposure.recommenders.lists import HeldOut
from metaeval.kinds.exposure.recommenders.options import RecommenderOptions
from metaeval.kinds.exposure.recommenders.sums import LogPart, Recommended
from metaeval.kinds.exposure.synthesis.constraints import cosine_graph
from metaeval.kinds.exposure.synthesis.interactions import KnownInteractions, incidence
from metaeval.kinds.exposure.synthesis.report import TAIL
from metaeval.kinds.exposure.synthesis.synthesizer import synthesize
from metaeval.stats.off_policy.terms import Estimator

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from metaeval.kinds.exposure.data.log_set import LogSet
    from metaeval.kinds.exposure.propensity.propensities import Propensities
    from metaeval.kinds.exposure.synthesis.options import SynthesisOptions
    from metaeval.stats.coefficients.tables import Floats, Ints

_USERS = 1_000  # served at a time
NAME = "item-knn"


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


def measures(k: int) -> tuple[str, ...]:
    """Return the names of what `downstream` gives."""
    return (f"IPS-Recall@{k}", f"Recall@{k}", f"IPS-Recall@{k} of the tail", "tail share of the lists")


def downstream(
    data: LogSet, given: Propensities, how: SynthesisOptions, *, floor: float, rounds: int
) -> Floats:
    """Return sums whose ratios are `measures` of item-kNN without synthetic rows and after each round.

    The recommender and the synthesizer learn from the earlier rows of each user alone; the synthetic
    interactions are drawn again from these. What is held out, and recall, are those of
    `metaeval.kinds.exposure.recommenders`.

    Returns
    -------
    ndarray
        Shape (1 + rounds, measures, 2, users).

    Raises
    ------
    MetaevalError
        If item-kNN has nothing to recommend.
    """
    options = RecommenderOptions(k=how.k, held_out=how.held_out, seed=how.seed)
    known = KnownInteractions.of_log(data)
    train = known.among(HeldOut.latest(known.of, how.held_out, how.seed).early)
    shape = (len(known.of.users), len(known.of.items))
    shown = incidence(train.of.user, train.of.item, shape)
    users, items, made = train.user, train.item, None
    lists = [item_knn(train.taken, shown, how.k, how.neighbours)]
    for _ in range(rounds):
        made = synthesize(train, how, made)
        users, items = np.concatenate([users, made.user]), np.concatenate([items, made.item])
        lists.append(item_knn(incidence(users, items, shape), shown, how.k, how.neighbours))
    runs = pd.concat([_runs(f"{number:03}", of, known) for number, of in enumerate(lists)], ignore_index=True)
    found = Recommended.of(replace(data, runs=runs), given, options, floor)
    if found is None or len(found.systems) <= rounds:
        raise MetaevalError("item-kNN has nothing to recommend: no two items were taken by the same user")
    bins = popularity_bins(train.of)
    tail = bins > bins.max() - TAIL
    ips, naive = Estimator("ips"), Estimator("naive")
    recalls = [
        found.by_user(given, "Recall", estimator, LogPart(items=items))[:2]
        for estimator, items in ((ips, None), (naive, None), (ips, tail))
    ]
    counts = [np.stack([((of >= 0) & tail[of]).sum(axis=1), (of >= 0).sum(axis=1)]) for of in lists]
    recalls.append(np.stack(counts, axis=1)[..., found.users].astype(np.float64))
    return np.stack(recalls).transpose(2, 0, 1, 3)


def _runs(name: str, lists: Ints, known: KnownInteractions) -> pd.DataFrame:
    """Return lists as the table ``runs`` has them."""
    user, place = np.nonzero(lists >= 0)
    return pd.DataFrame(
        {
            "system": name,
            USER: known.of.users.to_numpy(dtype=object)[user],
            ITEM: known.of.items.to_numpy(dtype=object)[lists[user, place]],
            "rank": place + 1,
        }
    )
