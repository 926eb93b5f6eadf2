"""The best of several candidates, chosen on some clusters: what it is worth on fresh ones, and what is lost.

The highest of several estimates is too high, the more so the more candidates and the fewer clusters there
are. The search is repeated in bootstrap resamples, and judged by the clusters that these leave out.

Examples
--------
>>> import numpy as np
>>> from metaeval.stats.resampling.choice import best_of
>>> rng = np.random.default_rng(0)
>>> right = rng.normal(size=(8, 30)) + 1  # eight judges that are equally good, by 30 users
>>> found = best_of(right.mean(axis=1), right)
>>> print(f"shown {right[found.chosen].mean():.2f}, expected {found.fresh:.2f}, the truth is 1")
shown 1.21, expected 1.07, the truth is 1
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from metaeval.stats.coefficients.tables import Floats
from metaeval.stats.resampling.rank_ranges import (
    DRAWS,
    MOST_BY_HOLM,
    Bools,
    RankRanges,
    rank_ranges,
)
from metaeval.stats.resampling.significance import FEWEST_CLUSTERS
from metaeval.stats.resampling.weights import EQUAL, Resamples, held_out

FEW_TO_CHOOSE = 10
"""Clusters below which bias and coverage were not what they should be."""

_RESAMPLES, _DRAWS, _FOR_MANY = 1_000, 10_000, 2_000
_OUT = 0.632  # Efron (1983): the share of the clusters that are in a resample
_MOST_NOISE = 0.95  # of the contenders' differences


@dataclass(frozen=True, slots=True, eq=False)
class BestChoice:
    """The candidate that is chosen of k, and how sure that is."""

    chosen: int
    fresh: float
    """What it can be expected to have on fresh clusters, counting the search."""
    low: float
    high: float
    """The interval of that."""
    contenders: Bools
    """Shape (k,): those that may be the best."""
    chance: Floats
    """Shape (k,): of being the best; 0 for one that may not be."""
    loss: float
    """What the best is expected to have more than the chosen one."""
    most: float
    """The most that it may have more, at 1 − α."""
    alike: Bools
    """Shape (k,): those with the estimate of the chosen one, to which every cluster adds the same."""
    ranks: RankRanges

    def labels(self, loss: float, n: int) -> float:
        """Return how many clusters bring the expected loss to this one; ``n`` if it is not above it."""
        return n * max(1.0, self.loss / loss)


def picked(estimates: Floats, costs: Floats, slack: float = EQUAL) -> np.ndarray:
    """Return the cheapest of those within a slack of the highest, then the highest: of each column.

    Parameters
    ----------
    estimates
        Shape (k, columns).
    costs
        Shape (k,); one that is NaN counts as the dearest.
    """
    near = estimates >= estimates.max(axis=0) - slack
    dear = np.where(near, np.where(np.isnan(costs), np.inf, costs)[:, None], np.nan)
    best = near & (dear == np.nanmin(dear, axis=0))
    return np.asarray(np.where(best, estimates, -np.inf).argmax(axis=0))


def best_of(
    estimates: Floats,
    contributed: Floats,
    costs: Floats | None = None,
    *,
    slack: float = EQUAL,
    share: bool = False,
    alpha: float = 0.05,
    seed: int = 0,
) -> BestChoice:
    """Choose the highest estimate, or the cheapest near it, and say what it is worth and what may be lost.

    The value on fresh clusters is that of the .632 bootstrap (Efron 1983, Journal of the American Statistical
    Association 78, 316), applied to the search: in each resample one is chosen by the same rule, and the
    contributions of the clusters that were not drawn say what it has. The chance of being the best comes from
    draws about estimates that are moved towards their mean by the share of noise in their differences
    (empirical Bayes). The most that may be lost is a bound by Hsu (1984).

    Parameters
    ----------
    estimates
        Shape (k,), finite; higher is better.
    contributed
        Shape (k, n): see `metaeval.stats.resampling.rank_ranges.contributions`.
    costs
        Shape (k,); the cheaper of equal estimates is chosen.
    slack
        How far below the highest the cheapest may be.
    share
        Whether estimates are shares of units: then no standard error is below that of a share of clusters.

    Raises
    ------
    ValueError
        If there are fewer than six clusters, or an estimate is not finite.
    """
    k, n = contributed.shape
    if n < FEWEST_CLUSTERS or not (np.isfinite(estimates).all() and np.isfinite(contributed).all()):
        raise ValueError(f"{n} clusters and finite values: {FEWEST_CLUSTERS} or more are needed, and all")
    costs = np.zeros(k) if costs is None else costs
    psi = contributed - contributed.mean(axis=1, keepdims=True)
    chosen = int(picked(estimates[:, None], costs, slack)[0])
    weights = _some_left_out(n, seed)
    of_resample = picked(estimates[:, None] + psi @ weights / n, costs, slack)
    left = weights == 0
    out = estimates[of_resample] + (psi[of_resample] * left.T).sum(axis=1) / left.sum(axis=0)
    shown = float(estimates[chosen])
    fresh = (1 - _OUT) * shown + _OUT * float(out.mean())
    half = half_width(psi[chosen], shown, alpha=alpha, share=share, apart=(shown - fresh) / 2)
    draws = DRAWS if k <= MOST_BY_HOLM else _FOR_MANY
    ranks = rank_ranges(estimates, psi, alpha=alpha, draws=draws, seed=seed)
    contenders = ranks.p_best > alpha if k > 1 else np.ones(1, dtype=bool)
    same = np.abs(estimates - shown) <= EQUAL
    alike = same & (np.isnan(ranks.error[chosen]) | (np.arange(k) == chosen))
    among = np.flatnonzero(contenders | (np.arange(k) == chosen))
    chance = np.zeros(k)
    chance[among], loss = _chances(estimates[among], psi[among], int(np.searchsorted(among, chosen)), seed)
    most = 0.0
    if len(among) > 1:
        apart = estimates - shown + ranks.reach * np.nan_to_num(ranks.error[chosen])
        most = max(0.0, float(apart[among].max()))
    return BestChoice(chosen, fresh, fresh - half, fresh + half, contenders, chance, loss, most, alike, ranks)


def half_width(
    psi: Floats, shown: float, *, alpha: float = 0.05, share: bool = False, apart: float = 0.0
) -> float:
    """Return half the width of the t interval of an estimate, from what n clusters contribute to it.

    Parameters
    ----------
    psi
        Shape (n,), of mean 0.
    shown
        The estimate.
    share
        As of `best_of`.
    apart
        A further error that is added to the standard error, by squares.
    """
    from scipy.special import stdtrit

    n = len(psi)
    error = math.sqrt((psi**2).sum() / n / (n - 1))
    if share:
        p = (n * shown + 2) / (n + 4)
        error = max(error, math.sqrt(p * (1 - p) / (n + 4)))
    return float(stdtrit(n - 1, 1 - alpha / 2) * math.hypot(error, apart))


def _some_left_out(n: int, seed: int) -> Floats:
    """Draw resamples that leave a cluster out, shape (n, resamples)."""
    drawn = np.concatenate([*Resamples(n, 2 * _RESAMPLES, seed).blocks()], axis=1)
    return drawn[:, (drawn == 0).any(axis=0)][:, :_RESAMPLES]  # 1.5 % of six do not


def _chances(estimates: Floats, psi: Floats, chosen: int, seed: int) -> tuple[Floats, float]:
    """Return the chance of each of being the best, and what is expected to be lost by the chosen one."""
    k, n = psi.shape
    if k == 1:
        return np.ones(1), 0.0
    apart = (psi - psi.mean(axis=0)) / math.sqrt(n * (n - 1))
    noise, spread = float((apart**2).sum()) / (k - 1), float(estimates.var(ddof=1))
    kept = 1 - min(_MOST_NOISE, noise / spread if spread > 0 else 1.0)
    centre = estimates.mean()
    normal = np.random.default_rng([seed, 2]).standard_normal((n, _DRAWS))
    values = (centre + kept * (estimates - centre))[:, None] + math.sqrt(kept) * (apart @ normal)
    highest = values.max(axis=0)
    best = values >= highest - EQUAL
    return (best / best.sum(axis=0)).mean(axis=1), float((highest - values[chosen]).mean())


def cross_validated(
    estimates: Floats,
    contributed: Floats,
    most: int,
    mean_of: Callable[[tuple[int, ...]], tuple[float, Floats]],
    *,
    seed: int = 0,
) -> float:
    """Return what the mean of the best candidates has on clusters by which they were not picked.

    Parameters
    ----------
    most
        How many are picked, in each of 10 times 5 folds anew.
    mean_of
        Candidates, in order → the estimate of their mean and the contributions of clusters to it.
    """
    psi = contributed - contributed.mean(axis=1, keepdims=True)
    out = held_out(psi.shape[1], folds=5, repeats=10, seed=seed)
    kept = estimates[:, None] + psi @ (1 - out) / (1 - out).sum(axis=0)
    best = np.sort(np.argsort(-kept, axis=0, kind="stable")[:most], axis=0)
    known = {members: mean_of(members) for members in {tuple(column.tolist()) for column in best.T}}
    each = []
    for column, left in zip(best.T, out.T, strict=True):
        value, own = known[tuple(column.tolist())]
        each.append(value + float((own - own.mean())[left > 0].mean()))
    return float(np.mean(each))
