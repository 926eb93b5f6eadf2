"""The slow and obvious way: one scipy call per group."""

from __future__ import annotations

import warnings
from fractions import Fraction

import numpy as np
import scipy.stats

FUNCTIONS = {
    "pearson": scipy.stats.pearsonr,
    "spearman": scipy.stats.spearmanr,
    "kendall": scipy.stats.kendalltau,
}
COEFFICIENTS = tuple(FUNCTIONS)


def coefficient(x, y, name):
    x, y = np.asarray(x, float), np.asarray(y, float)
    if len(x) < 2 or (x == x[0]).all() or (y == y[0]).all():
        return np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return float(FUNCTIONS[name](x, y)[0])


def exact_pearson(x, y):
    """Pearson's r with exact sums: what scipy rounds towards where offsets are large or variances tiny."""
    x, y = [Fraction(float(v)) for v in x], [Fraction(float(v)) for v in y]
    mx, my = sum(x) / len(x), sum(y) / len(y)
    cov = sum((a - mx) * (b - my) for a, b in zip(x, y, strict=True))
    vx, vy = sum((a - mx) ** 2 for a in x), sum((b - my) ** 2 for b in y)
    if not vx or not vy:
        return np.nan
    # The square is an exact fraction; only its root is rounded.
    return float(np.copysign(np.sqrt(float(cov * cov / (vx * vy))), float(np.sign(cov))))


def same(a, b, tolerance=1e-12):
    return (np.isnan(a) and np.isnan(b)) or abs(a - b) <= tolerance
