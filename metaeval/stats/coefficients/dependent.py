"""Tests of whether one correlation with the truth is higher than another, both from the same units."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from metaeval.stats.coefficients.tables import Floats

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

    Parameters
    ----------
    r_xy, r_zy
        Correlations of the two evaluators x and z with the truth y.
    r_xz
        Correlation of the two evaluators with each other.
    n
        Number of units that the three correlations have in common.

    Returns
    -------
    Williams
        NaN where an argument is, where n < 4, where x and z are one and the same (r_xz = 1), and where no
        data can have these three correlations: they were not taken from the same units.

    Raises
    ------
    ValueError
        If a correlation is outside −1 … 1.

    Notes
    -----
    Some authors compare absolute correlations; then give the absolute value of all three.
    """
    from scipy.special import stdtr

    xy, zy, xz, units = np.broadcast_arrays(*(np.asarray(a, dtype=np.float64) for a in (r_xy, r_zy, r_xz, n)))
    if any((np.abs(r) > 1 + _ROUNDING).any() for r in (xy, zy, xz)):
        raise ValueError("correlations must lie between -1 and 1")
    df = units - 3
    determinant = 1 - xy**2 - zy**2 - xz**2 + 2 * xy * zy * xz
    possible = (determinant > -_ROUNDING) & (1 - xz > _ROUNDING) & (df > 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = 2 * (units - 1) / df * np.maximum(determinant, 0) + ((xy + zy) / 2) ** 2 * (1 - xz) ** 3
        t = (xy - zy) * np.sqrt((units - 1) * np.maximum(1 + xz, 0) / spread)
    t = np.where(possible & (spread > 0), t, np.nan)
    freedom = np.where(df > 0, df, np.nan)
    return Williams(t, np.asarray(df), np.asarray(2 * stdtr(freedom, -np.abs(t))))
