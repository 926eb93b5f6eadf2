"""How far a distribution over the values of a scale is from people's, and what a set of responses covers.

Manhattan and Wasserstein distance as LeWiDi 2025 has them (Leonardelli et al. 2025, arXiv 2510.08460);
cross-entropy and Jensen–Shannon divergence; the squared error of shares and the coverage of response sets as
Guerdan et al. (2025, arXiv 2503.05965). Each function takes two arrays of shape (units, values) whose rows
sum up to 1, and returns one number a unit, shape (units,); a unit with NaN has NaN.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from metaeval.stats.coefficients.tables import Floats, Ints
from metaeval.stats.resampling.cluster_sums import ratio

LEAST = 1e-9
"""The least probability that cross-entropy takes, so that one miss does not make it infinite."""


def manhattan(judged: Floats, people: Floats) -> Floats:
    """Return the sum of the absolute differences of shares, 0 to 2."""
    total: Floats = np.abs(judged - people).sum(axis=-1)
    return total


def wasserstein(judged: Floats, people: Floats) -> Floats:
    """Return the Wasserstein distance in steps of the scale, whose values are in order, one step apart.

    It is the area between the cumulative shares, as `scipy.stats.wasserstein_distance` has it of one pair.
    """
    total: Floats = np.abs(np.cumsum(judged - people, axis=-1)[..., :-1]).sum(axis=-1)
    return total


def cross_entropy(judged: Floats, people: Floats) -> Floats:
    """Return −Σ p log q in nats, where no q is below `LEAST`."""
    from scipy.special import entr, rel_entr

    total: Floats = (rel_entr(people, np.maximum(judged, LEAST)) + entr(people)).sum(axis=-1)
    return total


def jensen_shannon(judged: Floats, people: Floats) -> Floats:
    """Return the Jensen–Shannon divergence in bits, 0 to 1."""
    from scipy.special import rel_entr

    # Not the square of scipy's `jensenshannon`, whose root loses digits close to 0.
    middle = (judged + people) / 2
    total: Floats = (rel_entr(judged, middle) + rel_entr(people, middle)).sum(axis=-1) / (2 * np.log(2))
    return total


def squared_error(judged: Floats, people: Floats) -> Floats:
    """Return the mean squared difference of shares; of yes and no, that of the share of yes."""
    mean: Floats = np.square(judged - people).mean(axis=-1)
    return mean


def likeliest(shares: Floats) -> Ints:
    """Return the position of the likeliest value, the first of several; -1 where there is none."""
    known: NDArray[np.bool_] = np.asarray(~np.isnan(shares).any(axis=-1))
    found: Ints = np.where(known, np.argmax(np.where(known[..., None], shares, 0.0), axis=-1), -1)
    return found


def covered(judged: Floats, people: Floats, least: float = 0.0) -> Floats:
    """Return 1 where the likeliest value is one that people gave, a share of ``least`` or more of them."""
    at = likeliest(judged)
    share = np.take_along_axis(people, np.maximum(at, 0)[..., None], axis=-1)[..., 0]
    inside = (share > 0) & (share >= least)
    return np.where((at < 0) | np.isnan(share), np.nan, inside)


def shares_in(counts: Floats) -> Floats:
    """Return counts of values as shares, shape (…, values); NaN where nothing is counted."""
    return ratio(counts, np.broadcast_to(counts.sum(axis=-1, keepdims=True), counts.shape))


def of_others(counts: Floats, given: Ints) -> Floats:
    """Return the shares of the other people's ratings, for each rating.

    Parameters
    ----------
    counts
        How many people gave each value, the one who is left out among them, shape (ratings, values).
    given
        The position of the value that this one gave, shape (ratings,). NaN is returned where nobody is left.
    """
    rest = counts - (np.arange(counts.shape[1]) == given[:, None])
    return shares_in(rest)


def of_other_clusters(counts: Floats, cluster: Ints) -> Floats:
    """Return for each unit the shares of all ratings in other clusters, shape (units, values).

    That is the same distribution for all, as somebody knows it who has not seen the unit's own cluster.
    ``counts`` are those of each unit, shape (units, values), and ``cluster`` its cluster.
    """
    of_cluster = np.stack([np.bincount(cluster, column) for column in counts.T], axis=1)
    rest = (counts.sum(axis=0) - of_cluster)[cluster]
    return shares_in(rest)
