"""Contributions of judges to the accuracy of their mean, and how far their errors are correlated."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from metaeval.stats.coefficients.exact import squarable

if TYPE_CHECKING:
    from metaeval.stats.coefficients.tables import Floats, Ints


def shapley(values: Floats) -> Floats:
    """Return the Shapley value of every judge (Shapley 1953).

    Parameters
    ----------
    values
        The value of each subset, as `metaeval.stats.subsets.moments.every_subset` orders them, shape (2^K −
        1,); the empty subset has the value 0.

    Returns
    -------
    ndarray
        Shape (K,): the mean gain when the judge joins, over all orders of the judges. The values sum to that
        of all judges together. NaN where a value is.
    """
    from scipy.special import comb

    gains, sizes = _gains(values)
    n = len(gains)
    return np.asarray((gains / (n * comb(n - 1, sizes))).sum(axis=1))


def joining(values: Floats) -> Floats:
    """Return the mean gain when a judge joins a non-empty subset of the others.

    Arguments and result as for `shapley`; NaN for a single judge.
    """
    gains, _ = _gains(values)
    return gains[:, 1:].mean(axis=1) if len(gains) > 1 else np.full(1, np.nan)


def _gains(values: Floats) -> tuple[Floats, Ints]:
    """Return what each judge adds to each subset without it, the empty one first, and the subsets' sizes.

    Both of shape (K, 2^(K−1)).
    """
    n = len(values).bit_length()
    of_subset = np.concatenate([[0.0], values])
    every = np.arange(2**n)
    without = np.stack([every[(every >> j & 1) == 0] for j in range(n)])
    gains = of_subset[without + 2 ** np.arange(n)[:, None]] - of_subset[without]
    return gains, np.bitwise_count(without).astype(np.int64)


def error_correlation(x: Floats, y: Floats) -> float:
    """Return the mean correlation between the errors of judges.

    The error is the standardised score minus the standardised truth.

    Parameters
    ----------
    x
        Scores, shape (K, n); judges whose scores are constant are left out.
    y
        Truth, shape (n,).

    Returns
    -------
    float
        NaN if the truth is constant, or fewer than two judges have errors that vary.
    """
    varied = x[(x != x[:, :1]).any(axis=1)]
    if len(varied) < 2 or not (y != y[0]).any():
        return float("nan")
    errors = _standardised(varied) - _standardised(y[None])
    size = np.sqrt(np.square(errors).mean(axis=1))
    errors = errors[size > 1e-9] / size[size > 1e-9, None]  # a judge that equals the truth has no errors
    if len(errors) < 2:
        return float("nan")
    r = errors @ errors.T / errors.shape[1]
    return float(r[np.triu_indices(len(r), 1)].mean())


def _standardised(x: Floats) -> Floats:
    d = np.stack([squarable(row) for row in x])
    d = d - d[:, :1]
    d = d - d.mean(axis=1, keepdims=True)
    return np.asarray(d / d.std(axis=1, keepdims=True))


def effective_number(n: int, mean_correlation: float) -> float:
    """Return the effective number of judges, n / (1 + (n − 1) r̄).

    The design effect of Kish (1965). NaN where errors cancel so far that the formula has no positive value.
    """
    denominator = 1 + (n - 1) * mean_correlation
    return n / denominator if denominator > 1e-9 else float("nan")
