"""Coefficients between all rows of a table, each pair on the columns that both have."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from metaeval.stats.coefficients.grouped import grouped
from metaeval.stats.coefficients.tables import ContingencyTables, encode
from metaeval.stats.resampling.threads import one_thread

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from metaeval.stats.coefficients.tables import Floats, Ints

_BLOCK = 2**20  # signs compared at a time, which stay in the cache; float32 holds sums of so many exactly
_MOST_COMPARED = 30  # columns for each row, above which sorting is cheaper than comparing every two


@one_thread()
def correlation_matrix(x: Floats, coefficient: str) -> tuple[Floats, Ints]:
    """Correlate every row with every other.

    Pearson's r and Spearman's rho are matrix products of standardised values or midranks; Kendall's tau-b
    one of the signs of all differences. Rows with values in the same columns are worked through together.

    Parameters
    ----------
    x
        Shape (rows, n); NaN for none.
    coefficient
        ``pearson``, ``spearman`` or ``kendall``.

    Returns
    -------
    r : ndarray
        Shape (rows, rows); NaN where a row is constant on the columns that both have.
    n : ndarray
        Shape (rows, rows): columns that both have.
    """
    there = ~np.isnan(x)
    patterns, of_row = np.unique(there, axis=0, return_inverse=True)
    r = np.full((len(x), len(x)), np.nan)
    for p in range(len(patterns)):
        for q in range(p, len(patterns)):
            both = patterns[p] & patterns[q]
            first, second = np.flatnonzero(of_row == p), np.flatnonzero(of_row == q)
            rows = np.union1d(first, second)
            of_first, of_second = (np.isin(rows, part) for part in (first, second))
            wanted = of_first[:, None] & of_second
            found = _complete(x[np.ix_(rows, both)], coefficient, wanted | wanted.T)
            part = found[np.ix_(np.searchsorted(rows, first), np.searchsorted(rows, second))]
            r[np.ix_(first, second)] = part
            r[np.ix_(second, first)] = part.T
    counts = there.astype(np.float64)
    return r, (counts @ counts.T).astype(np.int64)


def _complete(x: Floats, coefficient: str, wanted: NDArray[np.bool_]) -> Floats:
    """Correlate rows without NaN; ``wanted`` says which ones, shape (rows, rows)."""
    r = np.full((len(x), len(x)), np.nan)
    if x.shape[1] < 2:
        return r
    varied = np.flatnonzero(x.max(axis=1) > x.min(axis=1))
    values = x[varied]
    if not len(varied):
        return r
    if coefficient == "kendall":
        found = _kendall(values, wanted[np.ix_(varied, varied)])
    else:
        found = _pearson(_midranks(values) if coefficient == "spearman" else values)
    r[np.ix_(varied, varied)] = np.clip(found, -1.0, 1.0)
    return r


def _pearson(x: Floats) -> Floats:
    d = x - x[:, :1]  # exact for values of like size, so that a large offset costs no digits
    d /= np.abs(d).max(axis=1, keepdims=True)
    d -= d.mean(axis=1, keepdims=True)
    d /= np.sqrt((d * d).sum(axis=1, keepdims=True))
    r: Floats = d @ d.T
    return r


def _kendall(x: Floats, wanted: NDArray[np.bool_]) -> Floats:
    rows, n = x.shape
    if n > _MOST_COMPARED * rows:
        both: Floats = np.eye(rows)
        # A coefficient takes the less time the fewer values its second variable has.
        coded = sorted(enumerate(map(encode, x)), key=lambda item: -len(item[1].values))
        for (i, a), (j, b) in combinations(coded, 2):
            if wanted[i, j]:
                tables = ContingencyTables.of(a, b, np.zeros(n, dtype=np.int64), 1)
                both[i, j] = both[j, i] = grouped(tables, ["kendall"])[0, 0]
        return both
    # Twice the ranks are small whole numbers: their differences are exact.
    ranks = (2 * _midranks(x)).astype(np.float32)
    concordant = np.zeros((rows, rows))
    step = max(1, _BLOCK // (rows * n))
    for start in range(0, n, step):
        block, later = ranks[:, start : start + step, None], ranks[:, None, start + step :]
        for others, times in ((block.swapaxes(1, 2), 1), (later, 2)):  # a pair counts from both sides
            signs = block - others
            np.clip(signs, -1, 1, out=signs)
            signs = signs.reshape(rows, -1)
            concordant += times * (signs @ signs.T)
    untied = np.sqrt(np.diag(concordant))
    found: Floats = concordant / untied / untied[:, None]
    return found


def _midranks(x: Floats) -> Floats:
    """Rank every row; equals share the mean of their ranks."""
    return np.stack(
        [
            (np.searchsorted(ordered, row) + np.searchsorted(ordered, row, "right") + 1) / 2
            for row, ordered in zip(x, np.sort(x, axis=1), strict=True)
        ]
    )
