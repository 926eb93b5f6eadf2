"""How far the verdicts of judges differ that differ in the prompt alone, or in the replicate alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from metaeval.stats.resampling.bootstrap import Resampler
from metaeval.stats.resampling.cluster_sums import mean_of
from metaeval.trust.bias.between import PROMPT, REPLICATE, differing_in, prompts
from metaeval.trust.bias.bias import (
    ASPECT,
    FIRST_JUDGE,
    PAIRS,
    Bias,
    BiasData,
    BiasQuestion,
    Measured,
    Part,
    TestedNumber,
    VerdictPairs,
    measured,
    number,
    part,
    totals,
)

_QUESTIONS = {
    PROMPT: BiasQuestion(
        "wording",
        "what the wording adds to the share of the first shown",
        *2 * ("the wording moves its preference for the first",),
    ),
    REPLICATE: BiasQuestion(
        "repeatability",
        "what a repetition adds to the share of the first shown",
        *2 * ("a repetition moves its preference for the first",),
    ),
}


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
    of_judge = {(p.judge, p.aspect): p for p in pairs}
    judges = list(dict.fromkeys(p.judge for p in pairs))
    for differ_in in _QUESTIONS:
        for group in differing_in(differ_in, signatures, judges):
            for one, other in combinations(group, 2):
                for aspect in dict.fromkeys(p.aspect for p in pairs if p.judge == one):
                    if (other, aspect) in of_judge:
                        both = of_judge[one, aspect], of_judge[other, aspect]
                        yield from _between(*both, differ_in, resamples=resamples, seed=seed)


def _between(
    one: VerdictPairs, other: VerdictPairs, differ_in: str, *, resamples: int, seed: int
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
        differ_in,
        one.aspect,
        measured(mean_of(same, n), resampler, bounds=(0.0, 1.0)),
        measured(mean_of(moved, n), resampler, moved, bounds=(-1.0, 1.0)),
        len(met),
    )


def _parts(data: BiasData) -> tuple[Part, ...]:
    def differ_in(result: VerdictsBetween) -> str:
        words = f"prompt: {prompts(data, result.judges)}"
        return words if result.differ_in == PROMPT else result.differ_in

    return (
        FIRST_JUDGE,
        part("other", "Other", source=lambda result: result.judges[1]),
        part("differ_in", "Difference in", source=differ_in),
        ASPECT,
        number("identical", "Same verdicts", "share"),
        number("shift", "Second − first"),
        PAIRS,
    )


VERDICTS_BETWEEN = Bias(
    "verdicts_between",
    "Verdicts in other words, and when asked again",
    lambda data: verdicts_between(data.pairs, data.signatures, **data.draws),
    lambda results: (
        TestedNumber(" / ".join(r.judges), r.aspect, _QUESTIONS[r.differ_in], r.shift) for r in results
    ),
    _parts,
    lambda _found, _results: (
        (
            "Pairwise evaluators whose signatures differ only in the prompt or the replicate, on the pairs "
            "that both answered in both orders. Same verdicts: order by order. Second − first: difference "
            "in the share of verdicts for the text shown first; a tie is half a verdict."
        ),
    ),
    lambda result: (
        (judge, "repeatability", result.identical) for judge in result.judges if result.differ_in == REPLICATE
    ),
)
