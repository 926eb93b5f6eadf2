"""Position: whether a pairwise judge prefers what it is shown first.

Every pair is asked in both orders. A flip is a pair on which the two orders differ
(`metaeval.evaluators.verdicts.outcomes`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from metaeval.base.records import FIRST, SECOND, TIE
from metaeval.evaluators.verdicts import NO_VERDICT, WINNERS, comparisons_of, pair_keys
from metaeval.stats.resampling.bootstrap import Resampler
from metaeval.stats.resampling.cluster_sums import mean_of, summed
from metaeval.stats.weighted.sums import Clusters
from metaeval.trust.bias.clustered import measured

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    from numpy.typing import ArrayLike

    from metaeval.stats.coefficients.tables import Floats
    from metaeval.trust.bias.clustered import Measured

_VALUES = np.array([{TIE: 0.5, FIRST: 1.0, SECOND: 0.0, "": np.nan}[winner] for winner in WINNERS])
"""The points of a pair's first text, by the code of the winner."""
_SHOWN = ["shown_first", "shown_second"]


@dataclass(frozen=True, slots=True, eq=False)
class VerdictPairs:
    """The verdicts of one judge on one aspect, one row per pair with an answer in both orders."""

    judge: str
    aspect: str
    frame: pd.DataFrame
    """Key columns of the pair, and the points of its first text when ``shown_first`` and ``shown_second``."""
    n_left_out: int
    """Pairs without an answer in both orders."""
    cluster: str = ""
    """The key column whose values are resampled whole; default: the first."""

    def clusters(self) -> Clusters:
        """Return the cluster of each pair, numbered by name."""
        column = self.frame[self.cluster or self.frame.columns[0]]
        names, codes = np.unique(column.astype(str).to_numpy(dtype=object), return_inverse=True)
        return Clusters(codes, len(names))


@dataclass(frozen=True, slots=True, eq=False)
class Position:
    """The effect of the order of a pair on verdicts."""

    judge: str
    aspect: str
    flips: Measured
    """The share of pairs on which the two orders differ."""
    first: Measured
    """The share of decided verdicts that the text shown first won; tested against one half."""
    ties: Measured
    """The share of verdicts that are ties."""
    n_pairs: int
    n_left_out: int


def pairs_of(verdicts: pd.DataFrame, cluster: str = "") -> list[VerdictPairs]:
    """Match the two orders of each pair, by evaluator and aspect.

    Parameters
    ----------
    verdicts
        Long, as described in `metaeval.evaluators.verdicts`.
    cluster
        The key column whose values are resampled whole; default: the first.

    Raises
    ------
    DataError
        If a column is missing, a word is not known, or an order of a pair is duplicate.
    """
    both = comparisons_of(verdicts)
    keys = [*pair_keys(verdicts), "first", "second"]
    answered = (both[_SHOWN] != NO_VERDICT).all(axis=1)
    for column in _SHOWN:
        both[column] = _VALUES[both[column].to_numpy()]
    found = []
    for (judge, aspect), own in both.groupby(["evaluator", "aspect"], sort=False, observed=True):
        usable = own[answered[own.index]]
        frame = usable.sort_values(keys, kind="stable", ignore_index=True)[[*keys, *_SHOWN]]
        left_out = len(own) - len(usable)
        found.append(VerdictPairs(str(judge), str(aspect), frame, left_out, cluster))
    return found


def position(pairs: VerdictPairs, *, resamples: int = 10_000, seed: int = 0) -> Position | None:
    """Measure flips and the preference for the first place; None if no pair was answered in both orders.

    Only pairs with both answers count, so that a better text is shown first as often as second.
    """
    if pairs.frame.empty:
        return None
    clusters = pairs.clusters()
    resampler = Resampler(clusters.n, resamples, seed)
    one, other = pairs.frame[_SHOWN].to_numpy(dtype=np.float64).T
    # In the second order the pair's second text is shown first.
    counted = [(one == 1) * 1 + (other == 0), (one == 0) * 1 + (other == 1), np.ones(len(one)), one != other]
    first, second, n, flipped = totals(counted, clusters)
    decided = first + second
    return Position(
        pairs.judge,
        pairs.aspect,
        measured(mean_of(flipped, n), resampler, bounds=(0.0, 1.0)),
        measured(mean_of(first, decided), resampler, first - second, bounds=(0.0, 1.0)),
        measured(mean_of(2 * n - decided, 2 * n), resampler, bounds=(0.0, 1.0)),
        len(one),
        pairs.n_left_out,
    )


def totals(values: Sequence[ArrayLike], clusters: Clusters) -> Floats:
    """Sum values of pairs by cluster, each to shape (1, n_clusters)."""
    rows = np.asarray(values, dtype=np.float64)
    return summed(rows, np.ones(rows.shape, dtype=bool), clusters.of_unit, clusters.n)[:, None]
