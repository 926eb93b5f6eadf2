"""What something is worth to a judge, the truth held fixed: the regression behind verbosity and family.

Ratings are noisy. A judge that sees what is good about a text sees more of it than one rating tells, and
what goes along with quality, such as length, then seems to be worth something by itself (errors in
variables; Fuller 1987, *Measurement Error Models*, ch. 1). If other people rated the same units, their mean
serves as an instrument: what both have in common is held fixed, and neither's noise.
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
    """A coefficient, with the truth held fixed in two ways."""

    best: Measured
    """Tested: freed of the noise of the ratings if other people rated the units, else as ``plain``."""
    plain: Measured
    """The ratings held fixed as they are."""
    instrument: bool
    """Whether ``best`` is freed of noise."""
    weak: bool = False
    """Whether other people rated the units, but their ratings tell too little of the truth to be used."""


def given_truth(
    data: JudgedUnits, response: Floats, columns: Sequence[Floats], resampler: Resampler
) -> GivenTruth:
    """Return the coefficient of the first column in response ~ columns + truth + user.

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
    if second is None:
        number = coefficient(plain, resampler)
        return GivenTruth(number, number, instrument=False)
    if _is_weak(data, response, columns, second, resampler):
        number = coefficient(plain, resampler)
        return GivenTruth(number, number, instrument=False, weak=True)
    best = _fits(data, response, columns, second)
    return GivenTruth(
        coefficient(best, resampler), coefficient(plain, resampler, tested=False), instrument=True
    )


def coefficient(of_aspects: Sequence[Within], resampler: Resampler, *, tested: bool = True) -> Measured:
    """Return the coefficient of the first column in the regressions of all aspects, and their mean."""
    contributions = np.stack([r.contributions() for r in of_aspects]) if tested else None
    return measured(Stack(of_aspects), resampler, contributions)


def _is_weak(
    data: JudgedUnits, response: Floats, columns: Sequence[Floats], second: Floats, resampler: Resampler
) -> bool:
    """Say whether, in any aspect, an instrument is too weak for its results to be trusted.

    That is F below 10 for its coefficient in truth ~ columns + instrument + user (Staiger & Stock 1997,
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
