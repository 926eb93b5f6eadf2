"""The link from a judge's scores of recommenders to their Recall: rank correlations and a monotone map."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np
from scipy.special import ndtr

from metaeval.stats.regression.isotonic import isotonic
from metaeval.stats.resampling.bootstrap import NOTHING, Estimate, bootstrap, each
from metaeval.stats.resampling.multiplicity import holm
from metaeval.stats.resampling.threads import one_thread
from metaeval.stats.weighted.statistic import coefficients_of_means

if TYPE_CHECKING:
    from metaeval.stats.coefficients.tables import Floats
    from metaeval.stats.resampling.bootstrap import Resampler, Statistic

LEAST = 5
"""Recommenders from which a map is fitted."""
FITTED = 500
"""Resamples at most in which maps are fitted again."""
_CEILING = 0.99  # of a target that is at most 1
_INSIDE = 3  # predictions from which R² is given
_EQUAL = 1e-12
_LEVEL = 0.05


class NoLink(StrEnum):
    """Why there is no map."""

    FEW = "few_systems"
    SATURATED = "saturated_target"
    FLAT = "flat_target"
    FLAT_SCORE = "flat_score"


class Unlinked(NamedTuple):
    """A reason, and a sentence with its numbers."""

    reason: NoLink
    text: str


@dataclass(frozen=True, slots=True, eq=False)
class OrdersKept:
    """A judge's scores of S recommenders and their targets, as functions of how often each user counts."""

    score: Statistic
    target: Statistic
    smooth: ClassVar = False

    def at(self, weights: Floats) -> Floats:
        """Return Spearman's ρ and Kendall's τ-b under each column of weights, shape (2, columns)."""
        x, y = self.score.at(weights), self.target.at(weights)
        there = ~np.isnan(x + y)
        x, y = np.where(there, x, 0.0), np.where(there, y, 0.0)
        slack = (_EQUAL * float(np.abs(x).max(initial=0)), _EQUAL * float(np.abs(y).max(initial=0)))
        return coefficients_of_means(x, y, there, slack, ["spearman", "kendall"])


@dataclass(frozen=True, slots=True, eq=False)
class OutOfFold:
    """R² of the monotone map, each recommender predicted by a map of the others."""

    score: Statistic
    target: Statistic
    smooth: ClassVar = False

    def at(self, weights: Floats) -> Floats:
        """Return R² under each column of weights, shape (1, columns)."""
        x, y = self.score.at(weights), self.target.at(weights)
        return np.array([[r_squared(y[:, c], left_out(x[:, c], y[:, c])) for c in range(x.shape[1])]])


def left_out(x: Floats, y: Floats) -> Floats:
    """Predict each target by the isotonic map of the other recommenders; NaN for a score out of their range.

    Parameters
    ----------
    x, y
        Scores and targets, shape (systems,).
    """
    found = np.full(len(x), np.nan)
    there = ~np.isnan(x + y)
    for s in np.flatnonzero(there):
        others = there.copy()
        others[s] = False
        if others.any() and x[others].min() <= x[s] <= x[others].max():
            found[s] = isotonic(x[others], y[others])(x[s])
    return found


def r_squared(y: Floats, predicted: Floats) -> float:
    """Return 1 - Σ(y - ŷ)² / Σ(y - ȳ)², where ȳ is the mean of the others, as ŷ is of a map of the others.

    Only what was predicted counts; NaN of fewer than three predictions.
    """
    there = ~np.isnan(y)
    inside = there & ~np.isnan(predicted)
    n = int(there.sum())
    if inside.sum() < _INSIDE:
        return float("nan")
    others = (y[there].sum() - y[inside]) / (n - 1)
    spread = np.square(y[inside] - others).sum()
    return float(1 - np.square(y[inside] - predicted[inside]).sum() / spread) if spread > 0 else float("nan")


@dataclass(frozen=True, slots=True, eq=False)
class Link:
    """What a judge's scores say of a target; coefficients are undefined where there is no map."""

    x: Floats
    y: Floats
    predicted: Floats
    """Predicted by the others; NaN for a score out of their range."""
    fitted: Floats
    """By the map of all; NaN if there is none."""
    spearman: Estimate[float]
    kendall: Estimate[float]
    r2: Estimate[float]
    why: Unlinked | None

    @property
    def outside(self) -> int:
        """How many scores are out of the range of the others."""
        return int((~np.isnan(self.x + self.y) & np.isnan(self.predicted)).sum())


@one_thread()
def link(score: Statistic, target: Statistic, n_users: int, resampler: Resampler | None) -> Link:
    """Fit targets on scores.

    Parameters
    ----------
    score, target
        Of the same recommenders and users, shape (systems,) each.
    resampler
        Users, for both at once; None for no intervals.
    """
    ones = np.ones((n_users, 1))
    x, y = score.at(ones)[:, 0], target.at(ones)[:, 0]
    nothing = np.full(len(x), np.nan)
    why = _why_not(x, y, score, target, resampler)
    if why is not None:
        return Link(x, y, nothing, nothing, NOTHING, NOTHING, NOTHING, why)
    order, map_ = OrdersKept(score, target), OutOfFold(score, target)
    there = ~np.isnan(x + y)
    fitted = np.where(there, isotonic(x[there], y[there])(np.nan_to_num(x)), np.nan)
    if resampler is None:
        values = [float(v) for v in np.concatenate([order.at(ones), map_.at(ones)])[:, 0]]
        found = [Estimate(v, np.nan, np.nan, n_users) for v in values]
    else:
        fewer = resampler.at_most(FITTED)
        found = [
            *each(bootstrap(order, resampler, bounds=(-1.0, 1.0), stretch=False)),
            *each(bootstrap(map_, fewer, bounds=(-np.inf, 1.0), stretch=False)),
        ]
    spearman, kendall, r2 = found
    return Link(x, y, left_out(x, y), fitted, spearman, kendall, r2, None)


def _why_not(
    x: Floats, y: Floats, score: Statistic, target: Statistic, resampler: Resampler | None
) -> Unlinked | None:
    there = ~np.isnan(x + y)
    n = int(there.sum())
    if n < LEAST:
        return Unlinked(NoLink.FEW, f"{n} recommenders have a score and a target (at least {LEAST})")
    full = int((y[there] >= _CEILING).sum())
    if 2 * full >= n:
        return Unlinked(NoLink.SATURATED, f"{full} of {n} targets are {_CEILING:g} or more")
    for reason, what, values, statistic in (
        (NoLink.FLAT, "targets", y, target),
        (NoLink.FLAT_SCORE, "the judge's scores", x, score),
    ):
        low, high = values[there].min(), values[there].max()
        if high - low <= _EQUAL or (resampler and not _differ(values, there, statistic, resampler)):
            return Unlinked(reason, f"{what} from {low:.4f} to {high:.4f} do not differ significantly")
    return None


def _differ(y: Floats, there: Floats, of: Statistic, resampler: Resampler) -> bool:
    """Say whether the values of any two recommenders differ: z tests of bootstrap deviations, Holm."""
    drawn = resampler.at_most(FITTED).replicates(of)
    p = []
    for a, b in combinations(np.flatnonzero(there), 2):
        spread = float(np.nanstd(drawn[a] - drawn[b]))
        p.append(float(2 * ndtr(-abs(y[a] - y[b]) / spread)) if spread > 0 else float(y[a] == y[b]))
    return bool((holm(p) < _LEVEL).any())
