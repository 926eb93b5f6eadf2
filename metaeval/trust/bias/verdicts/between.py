"""How far the verdicts of judges differ that differ in the prompt alone, or in the replicate alone."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from metaeval.stats.resampling.bootstrap import Resampler
from metaeval.stats.resampling.cluster_sums import mean_of
from metaeval.trust.bias.between import differing_in
from metaeval.trust.bias.clustered import measured
from metaeval.trust.bias.verdicts.position import VerdictPairs, totals

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from metaeval.trust.bias.clustered import Measured

PROMPT, REPLICATE = PARTS = ("prompt", "replicate")


@dataclass(frozen=True, slots=True, eq=False)
class VerdictsBetween:
    """How far two judges differ on the pairs that both answered in both orders."""

    judges: tuple[str, str]
    differ_in: str
    """``prompt`` or ``replicate``."""
    aspect: str
    identical: Measured
    """The share of equal verdicts, order by order."""
    shift: Measured
    """The share of verdicts for the text shown first, second judge minus first; tested. A tie is one half."""
    n_pairs: int


def verdicts_between(
    pairs: Sequence[VerdictPairs],
    signatures: Mapping[str, Mapping[str, Any]],
    *,
    resamples: int = 10_000,
    seed: int = 0,
) -> Iterator[VerdictsBetween]:
    """Compare every two judges whose signatures differ in one part alone, aspect by aspect.

    Judges without a common pair are left out. ``resamples`` and ``seed`` are of the clusters.
    """
    of = {(p.judge, p.aspect): p for p in pairs}
    judges = list(dict.fromkeys(p.judge for p in pairs))
    for part in PARTS:
        for group in differing_in(part, signatures, judges):
            for one, other in combinations(group, 2):
                for aspect in dict.fromkeys(p.aspect for p in pairs if p.judge == one):
                    if (other, aspect) in of:
                        both = of[one, aspect], of[other, aspect]
                        yield from _between(*both, part, resamples=resamples, seed=seed)


def _between(
    one: VerdictPairs, other: VerdictPairs, part: str, *, resamples: int, seed: int
) -> Iterator[VerdictsBetween]:
    keys = [c for c in one.frame.columns if not c.startswith("shown_")]
    met = one.frame.merge(other.frame, on=keys, suffixes=("", "_other"))
    if met.empty:
        return
    clusters = VerdictPairs(one.judge, one.aspect, met, 0, one.cluster).clusters()
    resampler = Resampler(clusters.n, resamples, seed)
    first, second, first_other, second_other = (
        met[f"shown_{order}{whose}"].to_numpy(dtype=np.float64)
        for whose in ("", "_other")
        for order in ("first", "second")
    )
    alike = ((first == first_other) * 1.0 + (second == second_other)) / 2
    # Values are the share of the pair's first text, so in the second order the text shown first has the rest.
    later = (first_other - second_other - first + second) / 2
    n, same, moved = totals([np.ones(len(met)), alike, later], clusters)
    yield VerdictsBetween(
        (one.judge, other.judge),
        part,
        one.aspect,
        measured(mean_of(same, n), resampler, bounds=(0.0, 1.0)),
        measured(mean_of(moved, n), resampler, moved, bounds=(-1.0, 1.0)),
        len(met),
    )
