"""Number of labels per user to order the systems as all labels of the truth do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from metaeval.base.progress import progress
from metaeval.kinds.relevance.data.collection import ITEM, USER
from metaeval.kinds.relevance.systems.agreement import means_of
from metaeval.kinds.relevance.systems.effectiveness import effectiveness
from metaeval.stats.ranking.orders import weighted_kendall
from metaeval.stats.ranking.taus import tau_of
from metaeval.stats.resampling.threads import in_threads

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from metaeval.kinds.relevance.systems.agreement import MeasurePair
    from metaeval.kinds.relevance.systems.effectiveness import RankedRuns
    from metaeval.kinds.relevance.systems.labels import Judgements
    from metaeval.kinds.relevance.systems.measures import SystemMeasure
    from metaeval.stats.coefficients.tables import Floats, Ints

SIZES = (10, 50, 100, 200)
REPEATS = (3, 10)
"""Samples of each size, at least and at most; where there are many users, a sample varies little."""
_SAMPLED_USERS = 2000  # over all samples of a size


def label_curve(
    runs: RankedRuns,
    judgements: Judgements,
    truth: str,
    pair: MeasurePair,
    measures: dict[str, SystemMeasure],
    *,
    sizes: Sequence[int] = SIZES,
    repeats: int | None = None,
    seed: int = 0,
) -> pd.DataFrame:
    """Order the systems by samples of an evaluator's labels, so many per user, and compare with the truth.

    Samples are spread over the depths of the pool, as those of a judge are, and a smaller one is part of a
    larger. The truth's own labels are sampled too; it is compared with all of them.

    Parameters
    ----------
    pair
        The measure by sampled labels, and that by all labels of the truth.
    measures
        Name → measure.
    repeats
        Samples of each size; if None, as many as have about 2,000 users, within `REPEATS`.

    Returns
    -------
    DataFrame
        ``evaluator``, ``measure``, ``truth_measure``, ``labels`` (at most per user), ``labels_per_user``
        (the mean of those that there are), ``tau`` and ``weighted_tau`` (means over the repeats), ``tau_low``
        and ``tau_high`` (the lowest and the highest), ``repeats``. An evaluator's last row has all labels.
    """
    true = means_of(effectiveness(runs, judgements.labels[truth], [measures[pair.truth]]), pair.truth)
    depth = best_rank(runs)
    n = repeats or int(np.clip(_SAMPLED_USERS // max(1, len(runs.users)), *REPEATS))
    by_name = judgements.units.sort_values([USER, ITEM]).index.to_numpy()
    names = [truth, *(n for n in judgements.labels if n != truth)]
    rows = []
    with progress("labels per user", len(names)) as advance:
        for name in names:
            labels = judgements.labels[name]
            there = ~np.isnan(labels)
            counts = np.bincount(runs.user_of_unit[there], minlength=len(runs.users))
            n_users = max(1, int((counts > 0).sum()))
            places = [
                sample_places(runs.user_of_unit, depth, there, by_name, seed=seed + r) for r in range(n)
            ]
            for size in [*(n for n in sizes if n < counts.max(initial=0)), int(counts.max(initial=0))]:

                def taus(place: Ints, labels: Floats = labels, size: int = size) -> tuple[float, float]:
                    kept = np.where(place < size, labels, np.nan)
                    own = means_of(effectiveness(runs, kept, [measures[pair.judge]]), pair.judge)
                    return tau_of(own, true), weighted_kendall(own, true)

                whole = size >= counts.max(initial=0)
                found = np.array(list(in_threads(taus, places[:1] if whole else places)))
                rows.append(
                    {
                        "evaluator": name,
                        "measure": pair.judge,
                        "truth_measure": pair.truth,
                        "labels": size,
                        "labels_per_user": np.minimum(counts, size).sum() / n_users,
                        "tau": found[:, 0].mean(),
                        "weighted_tau": found[:, 1].mean(),
                        "tau_low": found[:, 0].min(),
                        "tau_high": found[:, 0].max(),
                        "repeats": len(found),
                    }
                )
            advance()
    return pd.DataFrame(rows)


def best_rank(runs: RankedRuns) -> Ints:
    """Return the pool depth of each unit: the best rank that a system gives it; infinity, if none does."""
    found = np.full(runs.n_pairs + 1, np.iinfo(np.int64).max)
    for r in reversed(range(runs.pairs.shape[2])):
        found[runs.pairs[:, :, r]] = r
    found[-1] = np.iinfo(np.int64).max
    return found[runs.pair_of_unit]


def sample_places(user: Ints, depth: Ints, there: NDArray[np.bool_], by_name: Ints, *, seed: int) -> Ints:
    """Return the place of each unit among those of its user: a sample of n is the first n.

    A user's units are sorted by pool depth, equal ones at random. Places go around them in the order of van
    der Corput's sequence, from a random start, so that every sample is spread evenly over the depths.

    Parameters
    ----------
    by_name
        The units in the order of their names, so that draws do not depend on the order of rows.
    """
    rng = np.random.default_rng([seed, 14])
    drawn, shift = np.empty(len(user)), rng.random(int(user.max(initial=0)) + 1)
    drawn[by_name] = rng.random(len(user))
    order = np.lexsort((drawn, depth, user))
    order = order[there[order]]
    owner = user[order]
    within = np.arange(len(order)) - np.searchsorted(owner, owner)
    size = np.bincount(owner, minlength=len(shift))[owner]
    turn = ((within + 0.5) / size + shift[owner]) % 1.0
    ranked = order[np.lexsort((_bits_reversed(turn), owner))]
    place = np.full(len(user), np.iinfo(np.int64).max)
    place[ranked] = np.arange(len(ranked)) - np.searchsorted(user[ranked], user[ranked])
    return place


def _bits_reversed(turn: Floats) -> Floats:
    """Return the bits of numbers from 0 to 1 in reverse: sorted by it, every beginning is spread evenly."""
    bits = (turn * 2**32).astype(np.uint64)
    for shift, mask in ((16, 0x0000FFFF), (8, 0x00FF00FF), (4, 0x0F0F0F0F), (2, 0x33333333), (1, 0x55555555)):
        bits = ((bits >> np.uint64(shift)) & np.uint64(mask)) | ((bits & np.uint64(mask)) << np.uint64(shift))
    return np.asarray(bits, dtype=np.float64)
