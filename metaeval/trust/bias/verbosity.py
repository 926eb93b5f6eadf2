"""Verbosity: whether a judge gives a longer text a higher score than people would.

The score is regressed on the binary logarithm of the text's length and on the truth, with cluster fixed
effects. The coefficient is in points of the judge's scale for twice the length.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from metaeval.trust.bias.given_truth import coefficient, fits, given_truth

if TYPE_CHECKING:
    from metaeval.stats.coefficients.tables import Floats, Ints
    from metaeval.stats.resampling.bootstrap import Resampler
    from metaeval.trust.bias.arrays import JudgedUnits
    from metaeval.trust.bias.clustered import Measured
    from metaeval.trust.bias.given_truth import GivenTruth


@dataclass(frozen=True, slots=True, eq=False)
class Verbosity:
    """The effect of length on a judge's scores, and on people's ratings."""

    judge: str
    doubling: GivenTruth
    """Points for twice the length, the truth (and the family) held fixed."""
    of_truth: Measured
    """Points of people's ratings for twice the length; not tested."""
    n_units: Ints
    """Shape (A,)."""


def verbosity(
    data: JudgedUnits, judge: str, resampler: Resampler, *, is_own: Floats | None = None
) -> Verbosity | None:
    """Measure the effect of length on a judge's scores; None if lengths are not known.

    ``is_own``, shape (U,), is 1 where the generator is of the judge's family, which is held fixed too; None
    if families are not known.
    """
    twice = data.doublings
    if twice is None:
        return None
    use = data.rated(judge) & ~np.isnan(twice)
    people = fits(data, np.where(use, data.truth, np.nan), [twice])
    columns = [twice] if is_own is None else [twice, is_own]
    return Verbosity(
        judge,
        given_truth(data, data.of(judge), columns, resampler),
        coefficient(people, resampler, tested=False),
        use.sum(axis=1),
    )
