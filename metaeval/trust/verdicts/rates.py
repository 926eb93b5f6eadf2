"""Shares of verdicts, with bootstrap intervals; users are resampled, or items in verdicts without users."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from metaeval.base.keys import noun
from metaeval.base.records import FIRST, SECOND
from metaeval.engine.sheet import Column
from metaeval.evaluators.verdicts import WINNERS, pair_keys
from metaeval.stats.resampling.bootstrap import Resampler, bootstrap, each
from metaeval.stats.resampling.cluster_sums import mean_of, summed

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import ArrayLike

    from metaeval.stats.coefficients.tables import Ints
    from metaeval.stats.resampling.bootstrap import Estimate

_FIRST, _SECOND = WINNERS.index(FIRST), WINNERS.index(SECOND)
FIRST_SHARE = Column("first_share", "For the first shown", "share", "first_share_low", "first_share_high")
FIRST_NOTE = (
    "For the first shown: of all verdicts that name a text, those for the one shown first; 50 % is even."
)


def clusters_of(comparisons: pd.DataFrame) -> tuple[Ints, int]:
    """Return the cluster of each comparison, its user or else its item, and how many there are."""
    import pandas as pd

    codes, names = pd.factorize(comparisons[pair_keys(comparisons)[0]])
    return codes.astype(np.int64), len(names)


def intervals_note(verdicts: pd.DataFrame, resamples: int, seed: int) -> str:
    """Say how the intervals of shares and strengths were made."""
    return (
        f"Brackets hold 95 % bootstrap intervals (percentiles, widened for few clusters; {resamples:,} "
        f"resamples of {noun(pair_keys(verdicts)[0])}s, seed {seed}); an interval without width means that "
        "all were alike."
    )


def shares_of(
    hits: ArrayLike, of: ArrayLike, cluster: Ints, n_clusters: int, *, resamples: int, seed: int
) -> list[Estimate[float]]:
    """Return shares of hits, with 95 % bootstrap intervals, widened for few clusters.

    Parameters
    ----------
    hits, of
        Counts, shape (rows, shares): a share is the sum of ``hits`` over that of ``of``.
    cluster, n_clusters
        The cluster of each row, shape (rows,), in ``range(n_clusters)``.
    resamples, seed
        Of the clusters.
    """
    counts = [np.asarray(values, dtype=np.float64).T for values in (hits, of)]
    above, below = (summed(c, np.ones(c.shape, dtype=bool), cluster, n_clusters) for c in counts)
    resampler = Resampler(n_clusters, resamples, seed)
    return each(bootstrap(mean_of(above, below), resampler, stretch=False))


def with_first_shares(
    comparisons: pd.DataFrame, part: ArrayLike, hits: ArrayLike, of: ArrayLike, *, resamples: int, seed: int
) -> list[tuple[Estimate[float], Estimate[float]]]:
    """Return a share for each part of the comparisons, and that of its verdicts for the text shown first.

    Parameters
    ----------
    comparisons
        As `metaeval.evaluators.verdicts.comparisons_of` returns them.
    part, hits, of
        Shape (comparisons, parts): what belongs to each part, and the counts of the first share.
    resamples, seed
        Of the clusters.
    """
    here = np.asarray(part)
    one, two = (comparisons[c].to_numpy()[:, None] for c in ("shown_first", "shown_second"))
    for_first = here * ((one == _FIRST).astype(np.float64) + (two == _SECOND))
    named = here * sum(np.isin(v, (_FIRST, _SECOND)).astype(np.float64) for v in (one, two))
    hits, of = (np.concatenate(both, axis=1) for both in ((hits, for_first), (of, named)))
    shares = shares_of(hits, of, *clusters_of(comparisons), resamples=resamples, seed=seed)
    n = here.shape[1]
    return list(zip(shares[:n], shares[n:], strict=True))
