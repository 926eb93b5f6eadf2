"""Self-preference: whether a judge scores texts of its own family of models higher than people would.

The score is regressed on whether the generator is of the judge's family and on the truth (and on the length
of the text, if known), with cluster fixed effects. The coefficient is in points of the judge's scale.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from metaeval.trust.bias.given_truth import given_truth

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from metaeval.stats.coefficients.tables import Floats, Ints
    from metaeval.stats.resampling.bootstrap import Resampler
    from metaeval.trust.bias.arrays import JudgedUnits
    from metaeval.trust.bias.clustered import Measured
    from metaeval.trust.bias.given_truth import GivenTruth


@dataclass(frozen=True, slots=True, eq=False)
class SelfPreference:
    """How much a judge favours its own family."""

    judge: str
    family: str
    own: tuple[str, ...]
    """Generators of the judge's family."""
    points: GivenTruth
    """Points for the own family, the truth (and the length) held fixed."""
    beyond_others: Measured | None
    """The same for the score minus the mean score of judges of other families, without the texts of their
    families: quality that the truth misses is seen by these judges too. None without such judges."""
    others: tuple[str, ...]
    n_units: Ints
    """Shape (A,)."""


def own_generators(
    generators: Sequence[str], family: str | None, families: Mapping[str, str | None]
) -> tuple[str, ...]:
    """Return the generators of a family; none if the family is not known, or all are of it."""
    own = tuple(g for g in generators if family is not None and families.get(g) == family)
    return own if len(own) < len(generators) else ()


def own_family(data: JudgedUnits, judge: str, families: Mapping[str, str | None]) -> Floats | None:
    """Return 1 for the units of the judge's family and 0 for others, shape (U,); None if all are alike."""
    own = own_generators(data.generators, families.get(judge), families)
    if not own:
        return None
    return np.isin(np.array(data.generators, dtype=object), own)[data.generator].astype(np.float64)


def self_preference(
    data: JudgedUnits, judge: str, families: Mapping[str, str | None], resampler: Resampler
) -> SelfPreference | None:
    """Measure how much higher a judge scores its own family.

    ``families`` are those of judges and generators. None if the judge has no family, or no generator or every
    generator is of it.
    """
    is_own = own_family(data, judge, families)
    if is_own is None:
        return None
    family = str(families[judge])
    scores = data.of(judge)
    columns = [is_own] if data.doublings is None else [is_own, data.doublings]
    others = tuple(
        j
        for j in data.judges
        if families.get(j) not in (None, family) and (j in data.rates) == (judge in data.rates)
    )
    beyond = None
    if others:
        theirs = np.mean([data.of(j) for j in others], axis=0)
        favoured = [families.get(g) in {families[j] for j in others} for g in data.generators]
        theirs = np.where(np.array(favoured)[data.generator], np.nan, theirs)
        beyond = given_truth(data, scores - theirs, columns, resampler).best
    return SelfPreference(
        judge,
        family,
        own_generators(data.generators, family, families),
        given_truth(data, scores, columns, resampler),
        beyond,
        others,
        data.rated(judge).sum(axis=1),
    )
