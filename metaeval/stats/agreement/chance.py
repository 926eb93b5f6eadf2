"""Agreement beyond chance of any number of raters, under weights: κ, π, AC1 and AC2, S, and alpha.

With K labels, a unit i that r_i raters gave labels, of which r_ik are label k, and weights w_kl of agreement
(1 on the diagonal), the agreement of the n units with two ratings or more is

    p_a = 1/n Σ_i Σ_k r_ik (Σ_l w_kl r_il - 1) / (r_i (r_i - 1)),

and each coefficient is (p_a - p_e) / (1 - p_e), with an agreement by chance p_e of its own (Gwet 2014,
Handbook of inter-rater reliability, 4th edition, chapters 2 to 5). What is missing is NaN.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike

from metaeval.stats.coefficients.tables import Floats
from metaeval.stats.resampling.cluster_sums import ClusterSums, ratio
from metaeval.stats.weighted.sums import Clusters, by_cluster, dense

CHANCE = ("agreement", "conger", "fleiss", "brennan_prediger", "gwet", "alpha")
"""The measures of `chance_agreement`, in its order."""
WEIGHTS: Mapping[str, str] = MappingProxyType(
    {
        "identity": "1 for the same label, else 0",
        "linear": "1 less the distance of two labels, as a share of the longest",
        "quadratic": "1 less the square of that share",
        "radical": "1 less its root",
        "ratio": "1 less the square of difference over sum, as a share of the largest",
        "ordinal": "1 less the number of pairs of labels between the two, as a share of the most",
        "circular": "1 less the squared sine of the distance on a circle, as a share of the largest",
        "bipolar": "1 less the squared distance, the more so the nearer to an end of the scale",
    }
)
"""Name → what the weights of agreement are (Gwet 2014, section 3.5)."""


def agreement_weights(weights: str | ArrayLike, labels: ArrayLike) -> Floats:
    """Return the weights of agreement of every two labels, shape (K, K).

    Parameters
    ----------
    weights
        A name of `WEIGHTS`, or weights of one's own, shape (K, K), with 1 on the diagonal. Raters have no
        order: weights that are not symmetric count as the mean of both ways.
    labels
        The labels as numbers, ascending, shape (K,).

    Raises
    ------
    ValueError
        If the name is unknown, the shape or the diagonal is wrong, or ratio weights meet negative labels.
    """
    x = np.asarray(labels, dtype=np.float64)
    if not isinstance(weights, str):
        own = np.asarray(weights, dtype=np.float64)
        if own.shape != (len(x), len(x)) or not np.isfinite(own).all() or (np.diagonal(own) != 1).any():
            raise ValueError(f"weights must be {len(x)} × {len(x)} numbers, 1 on the diagonal")
        return own
    if weights not in WEIGHTS:
        raise ValueError(f"weights must be one of {', '.join(WEIGHTS)}, not {weights!r}")
    if weights == "ratio" and (x < 0).any():
        raise ValueError("ratio weights need labels that are not negative")
    apart, places = np.abs(x[:, None] - x), np.abs(np.arange(len(x))[:, None] - np.arange(len(x)))
    both = x[:, None] + x
    distances: dict[str, Floats] = {
        "identity": np.ones_like(apart),
        "linear": apart,
        "quadratic": np.square(apart),
        "radical": np.sqrt(apart),
        "ratio": np.square(ratio(apart, both)),
        "ordinal": places * (places + 1) / 2,
        "circular": np.square(np.sin(np.pi * apart / (np.ptp(x) + 1))),
        "bipolar": ratio(np.square(apart), (both - 2 * x[:1]) * (2 * x[-1:] - both)),
    }
    distance = np.where(places > 0, distances[weights], 0.0)
    return 1.0 - distance / (distance.max(initial=0.0) or 1.0)


def chance_agreement(
    ratings: ArrayLike,
    labels: ArrayLike | None = None,
    weights: str | ArrayLike = "identity",
    clusters: Clusters | None = None,
) -> ClusterSums:
    """Return the measures `CHANCE` as a statistic of the clusters' weights, shape (6, columns).

    The agreement by chance is, with π_k the mean of the units' shares of label k:

    - ``conger`` (1980; of two raters Cohen's κ): of every two raters, by their own shares of labels;
    - ``fleiss`` (1971; of two raters who rated all, Scott's π 1955): Σ w_kl π_k π_l;
    - ``brennan_prediger`` (1981; of two labels Bennett's S): the mean of the weights;
    - ``gwet`` (2008; AC1, and AC2 under weights): Σ w_kl Σ π_k (1 - π_k) / (K (K - 1));
    - ``alpha`` (Krippendorff 2011): as Fleiss, of the ratings of the units with two or more, all alike, and
      p_a weighs units by their ratings, and is corrected for few.

    Parameters
    ----------
    ratings
        Shape (raters, units), among the labels; NaN where a rater has not rated.
    labels
        Ascending; those that occur, if left out. Labels that nobody gave count for ``brennan_prediger`` and
        ``gwet``.
    weights
        As of `agreement_weights`.
    clusters
        Of the units; each its own, if left out.

    Raises
    ------
    ValueError
        If a rating is not among the labels, or the weights are wrong.
    """
    table = np.asarray(ratings, dtype=np.float64)
    there = ~np.isnan(table)
    known = np.unique(table[there]) if labels is None else np.asarray(labels, dtype=np.float64)
    given = (table[..., None] == known).astype(np.float64)  # raters, units, labels
    if not np.array_equal(given.sum(axis=-1) > 0, there):
        raise ValueError("ratings must be among the labels")
    w = agreement_weights(weights, known)
    where = Clusters(np.arange(table.shape[1]), table.shape[1]) if clusters is None else clusters
    counts, r = given.sum(axis=0), there.sum(axis=0).astype(np.float64)
    two = r > 1
    alike = (counts * (counts @ w.T - 1)).sum(axis=1) / np.maximum(r - 1, 1)
    of_units = [
        two[:, None],
        ratio(alike, r)[:, None],
        alike[:, None],
        (r > 0)[:, None],
        counts / np.maximum(r, 1)[:, None],
        counts * two[:, None],
        given.transpose(1, 0, 2).reshape(table.shape[1], -1),
    ]
    of_units[1:3] = [np.where(two[:, None], v, 0.0) for v in of_units[1:3]]
    rows = np.concatenate(of_units, axis=1).astype(np.float64).T
    sums = dense(by_cluster(rows, np.zeros(len(where.of_unit), dtype=np.int64), 1, where))
    return ClusterSums(sums, functools.partial(_coefficients, w=w))


def _coefficients(sums: Floats, w: Floats) -> Floats:
    k = len(w)
    n, agreed, agreed_each, rated = sums[:4]
    shares, pooled, of_raters = sums[4 : 4 + k], sums[4 + k : 4 + 2 * k], sums[4 + 2 * k :]
    p_a, pi = ratio(agreed, n), ratio(shares, rated)

    def crossed(one: Floats, other: Floats) -> Floats:
        return np.asarray(np.einsum("kb,kl,lb->b", one, w, other, optimize=True))

    of_each = of_raters.reshape(-1, k, sums.shape[1])
    rated_by = of_each.sum(axis=1)
    p = np.nan_to_num(ratio(of_each, rated_by[:, None]))
    raters, total = (rated_by > 0).sum(axis=0), p.sum(axis=0)
    same = np.einsum("gkb,kl,glb->b", p, w, p, optimize=True)
    conger = ratio(crossed(total, total) - same, raters * (raters - 1))
    spread = w.sum() * (pi * (1 - pi)).sum(axis=0) / (k * (k - 1)) if k > 1 else np.full(len(n), np.nan)
    m = pooled.sum(axis=0)
    by_chance = [conger, crossed(pi, pi), np.full(len(n), w.mean()), spread]
    alpha, few = ratio(agreed_each, m), ratio(np.ones_like(m), m)
    found = [ratio(p_a - p_e, 1 - p_e) for p_e in by_chance]
    q = ratio(pooled, m)
    expected = crossed(q, q)
    return np.stack([p_a, *found, ratio((1 - few) * alpha + few - expected, 1 - expected)])
