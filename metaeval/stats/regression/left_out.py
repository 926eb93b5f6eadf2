"""Isotonic maps by which each point is predicted from the others, in many columns at once, and their R²."""

from __future__ import annotations

import numpy as np

from metaeval.stats.coefficients.tables import Floats

_INSIDE = 3  # predictions from which R² is given


def left_out(x: Floats, y: Floats) -> Floats:
    """Predict each ``y`` by the isotonic map from ``x`` of the other points.

    NaN for an ``x`` out of their range; all of shape (points, columns), each column on its own.
    """
    there = ~np.isnan(x + y)
    x, y = np.where(there, x, np.inf), np.where(there, y, 0.0)
    predicted = np.full(x.shape, np.nan)
    for s in range(len(x)):
        order = np.delete(x, s, axis=0).argsort(axis=0)
        a, b = (np.take_along_axis(np.delete(of, s, axis=0), order, axis=0) for of in (x, y))
        fitted = _isotonic(a, b)
        # The points on either side, which are one where ``x`` is one of the others'.
        ends = np.stack([(a <= x[s]).sum(axis=0) - 1, (a < x[s]).sum(axis=0)])
        inside = there[s] & (ends[0] >= 0) & (ends[1] < np.isfinite(a).sum(axis=0))
        ends = np.where(inside, ends, 0)
        (low, high), (under, over) = (np.take_along_axis(of, ends, axis=0) for of in (a, fitted))
        with np.errstate(invalid="ignore", divide="ignore"):
            predicted[s] = np.where(high > low, under + (over - under) * (x[s] - low) / (high - low), under)
        predicted[s, ~inside] = np.nan
    return predicted


def _isotonic(x: Floats, y: Floats) -> Floats:
    """Fit isotonic regression to each column, by the max-min formula (Barlow et al. 1972, section 1.4).

    ``x`` rises in each column and is infinite where there is no point; shape (n, columns), as the result.
    """
    n = len(x)
    total = np.concatenate([np.zeros_like(y[:1]), y.cumsum(axis=0)])
    first, last = np.arange(n)[:, None, None], np.arange(n)[:, None]
    apart = x[1:] != x[:-1]  # points of one ``x`` are pooled
    alone = np.ones_like(apart[:1])
    starts = np.concatenate([alone, apart])
    ends = np.concatenate([apart, alone]) & np.isfinite(x)
    means = (total[1:] - total[:-1, None]) / np.maximum(last - first + 1, 1)
    least = np.where((first <= last) & ends, means, np.inf)
    least = np.minimum.accumulate(least[:, ::-1], axis=1)[:, ::-1]
    return np.asarray(np.where((first <= last) & starts[:, None], least, -np.inf).max(axis=0))


def r_squared(y: Floats, predicted: Floats) -> Floats:
    """Return 1 - Σ(y - ŷ)² / Σ(y - ȳ)², where ȳ is the mean of the others, as ŷ is of a map of the others.

    Only what was predicted counts; NaN of fewer than three predictions. Sums run over the first axis.
    """
    there = ~np.isnan(y)
    inside = there & ~np.isnan(predicted)
    others = (np.nansum(y, axis=0) - y) / np.maximum(there.sum(axis=0) - 1, 1)
    error, spread = (np.where(inside, np.square(y - of), 0.0).sum(axis=0) for of in (predicted, others))
    known = (inside.sum(axis=0) >= _INSIDE) & (spread > 0)
    return np.asarray(np.where(known, 1 - error / np.where(known, spread, 1.0), np.nan))
