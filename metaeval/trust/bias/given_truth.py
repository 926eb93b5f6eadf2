"""The effect of a column on a judge's score with the truth held fixed: behind verbosity and self-preference.

Ratings measure quality with noise. Whatever goes along with quality, such as length, then takes over a part
of its effect (errors in variables; Fuller 1987, *Measurement Error Models*, ch. 1). If other people rated the
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
    """Tested; freed of the noise of the ratings if other people rated the units."""
    plain: Measured | None
    """With the ratings held fixed as they are; None if that is ``best``."""
    weak: bool = False
    """Whether other people rated the units, but their ratings tell too little of the truth to be used."""

    @property
    def instrument(self) -> bool:
        """Whether ``best`` is freed of noise."""
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
        Shape (A, U); NaN where there is none.
    columns
        Each of shape (U,); NaN where there is none.
    """
    second = data.second
    plain = _fits(data, response, columns, None)
    weak = second is not None and _is_weak(data, response, columns, second, resampler)
    if second is None or weak:
        return GivenTruth(coefficient(plain, resampler), None, weak)
    best = _fits(data, response, columns, second)
    return GivenTruth(coefficient(best, resampler), coefficient(plain, resampler, tested=False))


def coefficient(of_aspects: Sequence[Within], resampler: Resampler, *, tested: bool = True) -> Measured:
    """Return the coefficient of the first column in the regressions of all aspects, and their mean."""
    contributions = np.stack([r.contributions() for r in of_aspects]) if tested else None
    return measured(Stack(of_aspects), resampler, contributions)


def _is_weak(
    data: JudgedUnits, response: Floats, columns: Sequence[Floats], second: Floats, resampler: Resampler
) -> bool:
    """Say whether, in any aspect, an instrument is too weak for its results to be trusted.

    That is F below 10 for its coefficient in truth ~ columns + instrument + cluster (Staiger & Stock 1997,
    Econometrica 65, 557), the standard error taken from the bootstrap interval.
    """
    first_stage = []
    for a, truth in enumerate(data.truth):
        table = np.stack([second[a], *columns])
        use = ~np.isnan(response[a] + truth + table.sum(axis=0))
        who = data.cluster[use]
        first_stage.append(Within.of(truth[use], table[:, use], who, data.n_clusters, effects=who))
    found = coefficient(first_stage, resampler, tested=False)
    n = len(data.aspects)
    error = (found.high[:n] - found.low[:n]) / (2 * _NORMAL)
    strong = np.square(found.value[:n]) >= _STRONG * np.square(error)
    return not bool(strong.all())


def _fits(
    data: JudgedUnits, response: Floats, columns: Sequence[Floats], second: Floats | None
) -> list[Within]:
    found = []
    for a in range(len(data.aspects)):
        table = np.stack([*columns, data.truth[a]])
        measured = table if second is None else np.stack([*columns, second[a]])
        use = ~np.isnan(response[a] + table.sum(axis=0) + measured.sum(axis=0))
        who = data.cluster[use]
        found.append(
            Within.of(
                response[a, use],
                table[:, use],
                who,
                data.n_clusters,
                effects=who,
                instruments=None if second is None else measured[:, use],
            )
        )
    return found
