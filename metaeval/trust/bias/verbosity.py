"""Verbosity: whether a judge gives a longer text a higher score than people would.

The score is regressed on the binary logarithm of the text's length and on the truth, with cluster fixed
effects. The coefficient is in points of the judge's scale for twice the length.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from metaeval.stats.coefficients.tables import Floats, Ints
from metaeval.stats.resampling.bootstrap import Resampler
from metaeval.trust.bias.bias import (
    ASPECT,
    JUDGE,
    UNITS,
    Bias,
    BiasData,
    Biases,
    BiasQuestion,
    JudgedUnits,
    Measured,
    TestedNumber,
    number,
)
from metaeval.trust.bias.given_truth import GivenTruth, coefficient, fits, given_truth, given_truth_note
from metaeval.trust.bias.self_preference import own_family


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


QUESTION = BiasQuestion(
    "verbosity", "points for twice the length", "scores longer texts higher", "scores shorter texts higher"
)
WINS_BY_LENGTH = QUESTION._replace(number="share of a win for twice the length")


def _measure(data: BiasData) -> Iterator[Verbosity]:
    for units, judge, resampler in data.judges:
        is_own = own_family(units, judge, data.families)
        if result := verbosity(units, judge, resampler, is_own=is_own):
            yield result


def _notes(found: Biases, _results: Sequence[Verbosity]) -> Iterator[str]:
    yield (
        "Coefficient of the binary logarithm of the length in score ~ length + truth + "
        f"{found.data.clustered_by}: points of the judge's scale for a text twice as long with the same "
        "rating by people (and, if generators are of the judge's family, with the same family)."
    )
    yield given_truth_note(found)
    yield (
        "In people's ratings: the effect of twice the length on people's own ratings (truth ~ length + "
        f"{found.data.clustered_by})."
    )


VERBOSITY = Bias(
    "verbosity",
    "Verbosity: the effect of length, given the truth",
    _measure,
    lambda results: (TestedNumber(r.judge, "", QUESTION, r.doubling.best) for r in results),
    (
        JUDGE,
        ASPECT,
        number("doubling", "Points for twice the length", source="doubling.best"),
        number("plain", "Given the raw ratings", source="doubling.plain"),
        number("of_truth", "In people's ratings"),
        UNITS,
    ),
    _notes,
    lambda result: ((result.judge, "verbosity", result.doubling.best),),
)
