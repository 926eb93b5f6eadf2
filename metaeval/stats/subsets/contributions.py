"""Contributions of judges to the accuracy of their mean, and how far their errors are correlated."""

from __future__ import annotations

import numpy as np

from metaeval.stats.coefficients.tables import Floats, Ints, squarable


def shapley(values: Floats) -> Floats:
    """Return the Shapley value of every judge (Shapley 1953), shape (K,).

    It is the mean gain when the judge joins, over all orders of the judges. ``values``, shape (2^K − 1,), are
    those of the subsets as `metaeval.stats.subsets.pearson.every_subset` orders them; the empty one has 0.
    NaN where a value is.
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
    """Return the mean correlation between the errors of judges: standardised score less standardised truth.

    ``x`` has shape (K, n), ``y`` (n,). Judges whose scores are constant are left out; NaN if the truth is
    constant, or fewer than two judges have errors that vary.
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
