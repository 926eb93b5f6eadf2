"""Verbosity: whether a judge gives a longer text a higher score than people would.

The score is regressed on the binary logarithm of the text's length and on the truth, with cluster fixed
effects. The coefficient is in points of the judge's scale for twice the length.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from metaeval.trust.bias.given_truth import coefficient, given_truth
from metaeval.trust.bias.within import Within

if TYPE_CHECKING:
    from metaeval.stats.coefficients.tables import Floats, Ints
    from metaeval.stats.resampling.bootstrap import Resampler
    from metaeval.trust.bias.arrays import JudgedUnits
    from metaeval.trust.bias.clustered import Measured
    from metaeval.trust.bias.given_truth import GivenTruth


@dataclass(frozen=True, slots=True, eq=False)
class Verbosity:
    """What length is worth to a judge, and to people."""

    judge: str
    doubling: GivenTruth
    """Points of the judge's scale for twice the length, the truth (and the family) held fixed."""
    of_truth: Measured
    """Points that people themselves give for twice the length; not tested."""
    n_units: Ints
    """Shape (A,)."""


def doublings(data: JudgedUnits) -> Floats | None:
    """Return the binary logarithm of each text's length, NaN for none; None if lengths are not known."""
    return None if data.length is None else np.log2(np.where(data.length > 0, data.length, np.nan))


def verbosity(
    data: JudgedUnits, judge: str, resampler: Resampler, *, is_own: Floats | None = None
) -> Verbosity | None:
    """Measure the effect of length on a judge's scores; None if lengths are not known.

    ``is_own``, shape (U,), is 1 where the generator is of the judge's family, which is held fixed too; None
    if families are not known.
    """
    twice = doublings(data)
    if twice is None:
        return None
    use = data.rated(judge) & ~np.isnan(twice)
    people = []
    for truth, there in zip(data.truth, use, strict=True):
        who = data.cluster[there]
        people.append(Within.of(truth[there], twice[None, there], who, data.n_clusters, effects=who))
    columns = [twice] if is_own is None else [twice, is_own]
    return Verbosity(
        judge,
        given_truth(data, data.scores[data.place(judge)], columns, resampler),
        coefficient(people, resampler, tested=False),
        use.sum(axis=1),
    )
