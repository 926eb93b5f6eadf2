"""Adjusted p-values of a family of tests: compare them with the significance level of the family.

NaN is a test that could not be made: it stays NaN and does not count in the family.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

    from metaeval.stats.coefficients.tables import Floats


def holm(p: ArrayLike) -> Floats:
    """Adjust for the probability of any false rejection, step-down (Holm 1979); valid under any dependence.

    Parameters
    ----------
    p
        P-values of one family, in an array of any shape.

    Returns
    -------
    ndarray
        Adjusted p-values in the same shape; NaN where p is.

    Raises
    ------
    ValueError
        If a p-value is below 0 or above 1.
    """
    return _adjusted(p, _step_down)


def benjamini_hochberg(p: ArrayLike) -> Floats:
    """Adjust for the share of false rejections among all, step-up (Benjamini & Hochberg 1995).

    Valid for tests that are independent or positively dependent (Benjamini & Yekutieli 2001); arguments,
    result and errors as for `holm`.
    """
    return _adjusted(p, _step_up)


def _adjusted(p: ArrayLike, adjust: Callable[[Floats], Floats]) -> Floats:
    """Adjust the p-values that are not NaN."""
    found = np.array(p, dtype=np.float64)
    family = found[~np.isnan(found)]
    if ((family < 0) | (family > 1)).any():
        raise ValueError("p-values must lie between 0 and 1")
    if family.size > 1:
        found[~np.isnan(found)] = adjust(family)
    return found


def _step_down(family: Floats) -> Floats:
    order = np.argsort(family, kind="stable")
    adjusted = np.empty_like(family)
    remaining = np.arange(family.size, 0, -1)
    adjusted[order] = np.minimum(np.maximum.accumulate(remaining * family[order]), 1.0)
    return adjusted


def _step_up(family: Floats) -> Floats:
    from scipy.stats import false_discovery_control

    adjusted: Floats = false_discovery_control(family)
    return adjusted
