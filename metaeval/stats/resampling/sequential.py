"""Labels one by one, of units drawn with known probabilities, until a question is decided.

The value asked for is Σ w y over all units; y is what people say of one. Units are drawn without replacement.
Before draw t, a unit i of those left has the probability q_i = p_i / Σ p, and a prediction m_i from a judge's
score and the labels so far. Then

    Z_t = Σ_drawn w y + Σ_left w m + w_i (y_i − m_i) / q_i

has the value as its expectation, given the past, whatever m is: a judge's bias costs labels, not truth.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from metaeval.stats.coefficients.tables import Floats, Ints

LEAST = 30
"""Draws before which nothing is decided: the interval is valid for many draws."""
_USUAL = 100  # draws, as informative as the first ones, at which the interval is tightest
_EQUAL = 1e-9
_LEARNED = 10  # labels from which predictions are corrected by the labels so far


def chances(weights: Floats, doubt: Floats) -> Floats:
    """Return how likely each unit is first: half by |w|, half by |w| times how doubtful its score is."""
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
