"""Shares of verdicts, with intervals from resampled users, or items in verdicts without users."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from metaeval.base.records import FIRST, SECOND
from metaeval.evaluators.verdicts import WINNERS, pair_keys
from metaeval.stats.resampling.bootstrap import Resampler, bootstrap, each
from metaeval.stats.resampling.cluster_sums import mean_of, summed

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import ArrayLike

    from metaeval.stats.coefficients.tables import Floats, Ints
    from metaeval.stats.resampling.bootstrap import Estimate

_FIRST, _SECOND = WINNERS.index(FIRST), WINNERS.index(SECOND)


def clusters_of(comparisons: pd.DataFrame) -> tuple[Ints, int]:
    """Return the cluster of each comparison, its user or else its item, and how many there are."""
    import pandas as pd

    codes, names = pd.factorize(comparisons[pair_keys(comparisons)[0]])
    return codes.astype(np.int64), len(names)


def shares_of(
    hits: ArrayLike, of: ArrayLike, cluster: Ints, n_clusters: int, *, resamples: int, seed: int
) -> list[Estimate[float]]:
    """Return shares of hits, with 95 % bootstrap intervals, widened for few clusters.

    Parameters
    ----------
    hits, of
        Counts of each row, shape (rows, shares): a share is the sum of ``hits`` over that of ``of``.
    cluster, n_clusters
        The cluster of each row, shape (rows,), in ``range(n_clusters)``.
    resamples, seed
        Of the clusters.
    """
    counts = [np.asarray(values, dtype=np.float64).T for values in (hits, of)]
    above, below = (summed(c, np.ones(c.shape, dtype=bool), cluster, n_clusters) for c in counts)
    resampler = Resampler(n_clusters, resamples, seed)
    return each(bootstrap(mean_of(above, below), resampler, stretch=False))


def shown_first_counts(comparisons: pd.DataFrame) -> tuple[Floats, Floats]:
    """Return, for each comparison, verdicts for the text shown first, and verdicts that name a text.

    Parameters
    ----------
    comparisons
        As `metaeval.evaluators.verdicts.comparisons_of` returns them.

    Returns
    -------
    for_first, named
        Shape (comparisons,): 0, 1 or 2.
    """
    one, two = (comparisons[c].to_numpy() for c in ("shown_first", "shown_second"))
    for_first = (one == _FIRST).astype(np.float64) + (two == _SECOND)
    named = sum(np.isin(v, (_FIRST, _SECOND)).astype(np.float64) for v in (one, two))
    return for_first, np.asarray(named)
