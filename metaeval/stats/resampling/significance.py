"""P-values of families of tests, and the test of two correlations with one truth.

An adjusted p-value is compared with the significance level of the family. NaN is a test that could not be
made: it stays NaN and does not count in the family.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from metaeval.base.counts import plural_of
from metaeval.stats.coefficients.tables import Floats, Ints

FEWEST_CLUSTERS = 6
"""With fewer clusters no pattern of signs has p < 0.05, and no interval covers: none is given."""
FEW_CLUSTERS = "few_clusters"
"""The reason then."""
TOO_FEW = "too few to tell"


def freedom(n_clusters: ArrayLike) -> Floats:
    """Return the degrees of freedom of Student's t; NaN for fewer clusters than `FEWEST_CLUSTERS`.

    All intervals over clusters are made with these, or from ``bootstrap``, which asks here too.
    """
    n = np.asarray(n_clusters, dtype=np.float64)
    return np.where(n >= FEWEST_CLUSTERS, n - 1, np.nan)


def few_note(n: int, cluster: str) -> str:
    """Return a sentence where there are fewer than `FEWEST_CLUSTERS`, such as users; else nothing."""
    if n >= FEWEST_CLUSTERS:
        return ""
    return (
        f"{n} {plural_of(cluster)} are too few for any test at 5 %, and for any interval ({FEW_CLUSTERS}): "
        f"take {FEWEST_CLUSTERS} or more."
    )


def holm(p: ArrayLike) -> Floats:
    """Adjust for the probability of any false rejection, step-down (Holm 1979); valid under any dependence.

    ``p`` holds the p-values of one family, in an array of any shape; so does the result.
    """
    return _adjusted(p, lambda family: np.maximum.accumulate(np.arange(family.size, 0, -1) * family))


def benjamini_hochberg(p: ArrayLike) -> Floats:
    """Adjust for the share of false rejections among all, step-up (Benjamini & Hochberg 1995).

    Valid for tests that are independent or positively dependent (Benjamini & Yekutieli 2001); arguments,
    and result as for `holm`.
    """
    # As scipy.stats.false_discovery_control, whose import takes half a second of every run.
    return _adjusted(
        p,
        lambda family: np.minimum.accumulate((family * (family.size / np.arange(1, family.size + 1)))[::-1])[
            ::-1
        ],
    )


def _adjusted(p: ArrayLike, adjust: Callable[[Floats], Floats]) -> Floats:
    """Adjust the p-values that are not NaN; ``adjust`` takes those of a family, ascending."""
    found = np.array(p, dtype=np.float64)
    family = found[~np.isnan(found)]
    order = np.argsort(family, kind="stable")
    family[order] = np.minimum(adjust(family[order]), 1.0)
    found[~np.isnan(found)] = family
    return found


_ROUNDING = 1e-12  # correlations come with errors of about 1e-15


@dataclass(frozen=True, slots=True)
class Williams:
    """Result of `williams`; the arrays have the shape that its arguments broadcast to."""

    t: Floats
    """Above zero where r_xy is the higher one; NaN where the test is undefined."""
    df: Floats
    """Degrees of freedom, n − 3."""
    p: Floats
    """Two-sided."""


def williams(r_xy: ArrayLike, r_zy: ArrayLike, r_xz: ArrayLike, n: ArrayLike) -> Williams:
    """Test two dependent Pearson correlations that share y: Williams' t.

    Williams (1959), in the form of Steiger (1980), equation 7; for evaluators see Graham & Baldwin (2014).
    ``r_xy`` and ``r_zy`` are the correlations of two evaluators with the truth, ``r_xz`` that of the two with
    each other, all on the same ``n`` units. Some authors compare absolute correlations; then give the
    absolute value of all three. The result is NaN where an argument is, where n < 4, where x and z are one
    and the same (r_xz = 1), and where no data can have these three correlations: they were not taken from the
    same units.
    """
    from scipy.special import stdtr

    xy, zy, xz, units = np.broadcast_arrays(*(np.asarray(a, dtype=np.float64) for a in (r_xy, r_zy, r_xz, n)))
    df = units - 3
    determinant = 1 - xy**2 - zy**2 - xz**2 + 2 * xy * zy * xz
    possible = (determinant > -_ROUNDING) & (1 - xz > _ROUNDING) & (df > 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = 2 * (units - 1) / df * np.maximum(determinant, 0) + ((xy + zy) / 2) ** 2 * (1 - xz) ** 3
        t = (xy - zy) * np.sqrt((units - 1) * np.maximum(1 + xz, 0) / spread)
    t = np.where(possible & (spread > 0), t, np.nan)
    freedom = np.where(df > 0, df, np.nan)
    return Williams(t, np.asarray(df), np.asarray(2 * stdtr(freedom, -np.abs(t))))


LEAST = 30
"""Draws before which nothing is decided: the interval is valid for many draws."""
_USUAL = 100  # draws, as informative as the first ones, at which the interval is tightest
_EQUAL = 1e-9
_LEARNED = 10  # labels from which predictions are corrected by the labels so far


def chances(weights: Floats, doubt: Floats) -> Floats:
    """Return how likely each unit is first: half by weight, half by that times how doubtful its score is."""
    size = np.abs(weights)
    told = size * np.where(np.isnan(doubt), np.nanmean(doubt) if (~np.isnan(doubt)).any() else 1.0, doubt)
    told = told if told.sum() > 0 else size
    p: Floats = 0.5 * size / size.sum() + 0.5 * told / told.sum()
    return p


def drawn(p: Floats, *, seed: int = 0) -> Ints:
    """Draw all units without replacement, one after the other, each with its part of what is left of p."""
    return np.argsort(np.random.default_rng(seed).exponential(size=len(p)) / p, kind="stable")


@dataclass(frozen=True, slots=True, eq=False)
class Sequence95:
    """Estimates after each draw, with a confidence sequence; arrays have shape (draws,)."""

    value: Floats
    low: Floats
    high: Floats

    def stop(self, null: float, width: float = 0.0) -> int:
        """Return after how many draws the sequence first excludes a value; 0 if it never does.

        With a width: after how many it is first as narrow as ± that.
        """
        out = (self.low > null + _EQUAL) | (self.high < null - _EQUAL)
        out = self.high - self.low <= 2 * width if width else out
        return int(out.argmax()) + 1 if out.any() else 0


def confidence_sequence(
    weights: Floats, scores: Floats, ratings: Floats, p: Floats, order: Ints, *, alpha: float = 0.05
) -> Sequence95:
    """Estimate Σ w y after each draw, with intervals that all hold at once with probability 1 − α.

    The Z_t of the module's docstring are averaged with weights 1 / V_t: V_t = Σ w² / q − Σ w² over the units
    left is their variance, where errors y − m are alike. The normal-mixture sequence (Waudby-Smith, Arbour,
    Sinha, Kennedy & Ramdas 2024) is taken in the clock Σ 1 / V, with ρ such that it is tightest after about
    100 first draws. One may look after each label, and stop. When no unit is left, the value is known.

    Parameters
    ----------
    weights, scores, p
        Of all units, shape (n,).
    ratings
        Shape (n,); NaN for a unit that was skipped: its score counts as its rating.
    order
        The units drawn so far, in their order.
    """
    y = np.where(np.isnan(ratings), scores, ratings)
    left_p, left_w, left_wf = (float(v.sum()) for v in (p, weights, weights * scores))
    left_ww, left_wwp = float((weights**2).sum()), float((weights**2 / p).sum())
    seen = total = 0.0
    moments = np.zeros(5)  # of labels so far: n, sums of f, y, f², f y
    values, variances = np.empty(len(order)), np.empty(len(order))
    for t, i in enumerate(order):
        shift, slope = _line(moments)
        q = p[i] / left_p
        ahead = shift * left_w + slope * left_wf
        values[t] = seen + ahead + weights[i] * (y[i] - shift - slope * scores[i]) / q
        variances[t] = max(left_p * left_wwp - left_ww, 0.0)
        seen, total = seen + weights[i] * y[i], total + 1
        left_p, left_w, left_wf = left_p - p[i], left_w - weights[i], left_wf - weights[i] * scores[i]
        left_ww, left_wwp = left_ww - weights[i] ** 2, left_wwp - weights[i] ** 2 / p[i]
        if not np.isnan(ratings[i]):
            moments += (1, scores[i], y[i], scores[i] ** 2, scores[i] * y[i])
    least = 1e-9 * variances[:1]
    precision = 1 / np.maximum(variances, least)
    clock = np.cumsum(precision)
    mean = np.cumsum(values * precision) / clock
    spread = np.cumsum(values**2 * precision) - mean**2 * clock  # of (Z − mean) / √V
    n = np.arange(1, len(order) + 1)
    variance = np.maximum(spread, 0) / np.maximum(n - 1, 1)
    u = clock * variances[:1]
    rho = (-2 * math.log(alpha) + math.log(1 - 2 * math.log(alpha))) / _USUAL
    half = np.sqrt(variance * variances[:1] * (u * rho + 1) / (u**2 * rho) * np.log((u * rho + 1) / alpha**2))
    half = np.where((n < LEAST) & (n < len(weights)), np.inf, half)
    if len(order) == len(weights):
        mean[-1], half[-1] = seen, 0.0
    return Sequence95(mean, mean - half, mean + half)


def _line(moments: Floats) -> tuple[float, float]:
    """Return what is added to a score, and by what it is multiplied, to predict a rating."""
    n, f, y, ff, fy = moments
    if n < _LEARNED:
        return 0.0, 1.0
    spread = ff - f * f / n
    slope = float((fy - f * y / n) / spread) if spread > 1e-9 * ff else 0.0
    return float((y - slope * f) / n), slope
