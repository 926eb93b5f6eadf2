"""The effect of a column on a judge's score with the truth held fixed: behind verbosity and self-preference.

Ratings measure quality with noise, so whatever correlates with quality, such as length, takes over a part of
its effect (errors in variables; Fuller 1987, *Measurement Error Models*, ch. 1). If further people rated the
same units, their mean rating is an instrument for the truth (two-stage least squares).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from metaeval.stats.resampling.cluster_sums import Stack
from metaeval.trust.bias.clustered import measured
from metaeval.trust.bias.within import Within

if TYPE_CHECKING:
    from collections.abc import Sequence

    from metaeval.stats.coefficients.tables import Floats
    from metaeval.stats.resampling.bootstrap import Resampler
    from metaeval.trust.bias.arrays import JudgedUnits
    from metaeval.trust.bias.clustered import Measured

_STRONG = 10  # F of an instrument that may be used
_NORMAL = 1.96  # half the width of a 95 % interval in standard errors


@dataclass(frozen=True, slots=True, eq=False)
class GivenTruth:
    """A coefficient with the truth held fixed."""

    best: Measured
    """Tested; from the instrument, if there is a strong one."""
    plain: Measured | None
    """With the ratings held fixed as they are; None if that is ``best``."""
    weak: bool = False
    """Whether there is an instrument, but a weak one."""

    @property
    def instrument(self) -> bool:
        """Whether ``best`` is free of the noise of the ratings."""
        return self.plain is not None


def given_truth(
    data: JudgedUnits, response: Floats, columns: Sequence[Floats], resampler: Resampler
) -> GivenTruth:
    """Return the coefficient of the first column in response ~ columns + truth + cluster.

    Parameters
    ----------
    data, resampler
        With the truth, and how clusters are resampled.
    response
        Shape (A, U); NaN for a missing score.
    columns
        Each of shape (U,); NaN for a missing value.
    """
    plain = fits(data, response, [*columns, data.truth])
    second = data.second
    weak = second is not None and _is_weak(data, response, [second, *columns], resampler)
    if second is None or weak:
        return GivenTruth(coefficient(plain, resampler), None, weak)
    best = fits(data, response, [*columns, data.truth], [*columns, second])
    return GivenTruth(coefficient(best, resampler), coefficient(plain, resampler, tested=False))


def coefficient(of_aspects: Sequence[Within], resampler: Resampler, *, tested: bool = True) -> Measured:
    """Return the coefficient of the first column in the regression of each aspect, and their mean."""
    contributions = np.stack([r.contributions() for r in of_aspects]) if tested else None
    return measured(Stack(of_aspects), resampler, contributions)


def fits(
    data: JudgedUnits,
    response: Floats,
    columns: Sequence[Floats],
    instruments: Sequence[Floats] | None = None,
) -> list[Within]:
    """Prepare the regression response ~ columns + cluster of each aspect, on its complete units.

    Parameters
    ----------
    data
        With the clusters.
    response
        Shape (A, U).
    columns, instruments
        Each of shape (U,) or (A, U); as for `metaeval.trust.bias.within.Within.of`.
    """
    found = []
    for a, y in enumerate(response):
        table, left = (
            np.stack([x if x.ndim == 1 else x[a] for x in xs]) for xs in (columns, instruments or columns)
        )
        use = ~np.isnan(y + table.sum(axis=0) + left.sum(axis=0))
        who = data.cluster[use]
        other = None if instruments is None else left[:, use]
        found.append(Within.of(y[use], table[:, use], who, data.n_clusters, effects=who, instruments=other))
    return found


def _is_weak(data: JudgedUnits, response: Floats, columns: Sequence[Floats], resampler: Resampler) -> bool:
    """Say whether, in any aspect, the instrument is too weak.

    That is F below 10 for its coefficient in truth ~ instrument + columns + cluster (Staiger & Stock 1997,
    Econometrica 65, 557), the standard error taken from the bootstrap interval.
    """
    scored = np.where(np.isnan(response), np.nan, data.truth)
    found = coefficient(fits(data, scored, columns), resampler, tested=False)
    n = len(data.aspects)
    error = (found.high[:n] - found.low[:n]) / (2 * _NORMAL)
    return not bool((np.square(found.value[:n]) >= _STRONG * np.square(error)).all())
