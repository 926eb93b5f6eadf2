"""P-values of families of tests, and the test of two correlations with one truth.

An adjusted p-value is compared with the significance level of the family. NaN is a test that could not be
made: it stays NaN and does not count in the family.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from metaeval.base.counts import plural_of
from metaeval.stats.coefficients.tables import Floats

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
