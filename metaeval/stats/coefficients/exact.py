"""Exact means: equal ones tie, whatever the order of summation.

Ranks of means are wrong if 8/3 is 2.6666666666666665 in one place and 2.666666666666667 in another. So sums
are exact: over the common denominator of fractions (ratings, means of ratings, decimals), otherwise over the
binary values. Only the mean is rounded, once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from metaeval.stats.coefficients.tables import Floats, Ints

_LARGEST_DENOMINATOR = 2**20
_SQUARABLE = 200  # binary exponent; products of four such numbers are in range
_EXACT = 2.0**53  # whole numbers below this are exact as floats


def squarable(values: Floats) -> Floats:
    """Scale values by a power of two where their squares would overflow or underflow.

    This changes no correlation coefficient in any digit. Values of usual size are returned as they are.
    """
    exponent = math.frexp(float(np.fmax.reduce(np.abs(values), axis=None, initial=0.0)))[1]
    return values if abs(exponent) < _SQUARABLE else np.ldexp(values, -exponent)


@dataclass(frozen=True, slots=True)
class GroupSums:
    """Exact sums and counts of groups."""

    sums: tuple[Fraction, ...]
    counts: tuple[int, ...]

    @classmethod
    def of(cls, values: Floats, group: Ints, n_groups: int) -> GroupSums:
        """Sum finite values, shape (n,), by group, shape (n,)."""
        counts = np.bincount(group, minlength=n_groups)
        denominator = common_denominator(values)
        if denominator is not None and np.abs(values).sum() * denominator < _EXACT:
            whole = np.bincount(group, weights=np.rint(values * denominator), minlength=n_groups)
            sums = tuple(Fraction(int(s), denominator) for s in whole)
        else:
            sums = _sums_of_floats(values, group, n_groups)
        return cls(sums, tuple(map(int, counts)))

    def means(self) -> Floats:
        """Return the mean of each group, correctly rounded, shape (n_groups,); NaN for an empty group."""
        return np.array(
            [s / n if n else math.nan for s, n in zip(self.sums, self.counts, strict=True)], dtype=float
        )


def common_denominator(values: Floats) -> int | None:
    """Return the least d that makes each value the float nearest to a fraction over d; None above 2**20."""
    distinct = np.unique(values)
    if not distinct.size or max(-distinct[0], distinct[-1]) >= _EXACT / _LARGEST_DENOMINATOR:
        return None  # whole numbers at this size: the sum of floats is exact without a denominator
    denominator = 1
    while True:
        off = distinct[np.rint(distinct * denominator) / denominator != distinct]
        if not off.size:
            return denominator
        fraction = Fraction(float(off[0])).limit_denominator(_LARGEST_DENOMINATOR)
        together = math.lcm(denominator, fraction.denominator)
        if float(fraction) != off[0] or together > _LARGEST_DENOMINATOR or together == denominator:
            return None
        denominator = together


def _sums_of_floats(values: Floats, group: Ints, n_groups: int) -> tuple[Fraction, ...]:
    """Split values into slices of few bits, whose sums are exact (after Rump et al. 2008)."""
    sums = [Fraction(0)] * n_groups
    headroom = math.ceil(math.log2(len(values) + 2))
    rest = values
    while rest.any():
        exponent = headroom + math.frexp(float(np.abs(rest).max()))[1]
        if exponent > 1000:  # the largest floats leave no room for a sum: scale them down, exactly
            large = np.abs(rest) > 1
            scaled = _sums_of_floats(np.where(large, np.ldexp(rest, -128), 0.0), group, n_groups)
            others = _sums_of_floats(np.where(large, 0.0, rest), group, n_groups)
            return tuple(2**128 * a + b for a, b in zip(scaled, others, strict=True))
        unit = math.ldexp(0.75, exponent + 1)
        part = (rest + unit) - unit
        for i, s in enumerate(np.bincount(group, weights=part, minlength=n_groups)):
            sums[i] += Fraction(float(s))
        rest = rest - part
    return tuple(sums)
