"""The biases of judges, each a number with an interval and a test; one correction for all tests."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from metaeval.stats.resampling.bootstrap import Resampler
from metaeval.stats.resampling.multiplicity import holm
from metaeval.stats.resampling.threads import one_thread
from metaeval.trust.bias.between import Between, between, differing_in
from metaeval.trust.bias.clustered import FEWEST_CLUSTERS
from metaeval.trust.bias.scale_use import Leniency, RangeUse, leniency, range_use
from metaeval.trust.bias.self_preference import SelfPreference, own_family, own_generators, self_preference
from metaeval.trust.bias.verbosity import Verbosity, verbosity
from metaeval.trust.bias.verdicts.between import PROMPT, REPLICATE, VerdictsBetween, verdicts_between
from metaeval.trust.bias.verdicts.effects import PairwiseEffects, pairwise_effects
from metaeval.trust.bias.verdicts.position import Position, VerdictPairs, position

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import pandas as pd

    from metaeval.trust.bias.arrays import JudgedUnits
    from metaeval.trust.bias.clustered import Measured

T = TypeVar("T")

ALPHA = 0.05


class BiasQuestion(NamedTuple):
    """A bias, and the number that is tested for it."""

    bias: str
    number: str
    above: str
    """The words for a number significantly above ``none``, and below it."""
    below: str
    none: float = 0.0
    """The number without the bias."""


POSITION = BiasQuestion(
    "position", "verdicts won by the text shown first", "prefers the first", "prefers the second", 0.5
)
VERBOSITY = BiasQuestion(
    "verbosity", "points for twice the length", "scores longer texts higher", "scores shorter texts higher"
)
WINS_BY_LENGTH = VERBOSITY._replace(number="share of a win for twice the length")
SELF_PREFERENCE = BiasQuestion(
    "self-preference", "points for its own family", "favours its own family", "scores its own family lower"
)
WINS_BY_FAMILY = SELF_PREFERENCE._replace(number="share of a win for its own family")
LENIENCY = BiasQuestion(
    "leniency", "mean of score − truth", "scores higher than people", "scores lower than people"
)
CENTRAL = BiasQuestion(
    "central tendency",
    "spread of scores / truth",
    "spreads scores wider than people",
    "keeps scores closer together than people",
    1.0,
)
RANGE = BiasQuestion(
    "range use", "entropy of scores / truth", "uses more of the scale", "uses less of the scale", 1.0
)
WORDING = BiasQuestion(
    "wording", "points that the wording moves scores", *2 * ("the wording moves its scores",)
)
REPEATABILITY = BiasQuestion(
    "repeatability", "points between repetitions", *2 * ("a repetition moves its scores",)
)
VERDICTS_BETWEEN = {
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


class Test(NamedTuple):
    """One tested number of one judge."""

    judge: str
    bias: str
    number: str
    aspect: str
    """Of pairwise verdicts; empty for scores, whose mean over aspects is tested."""
    estimate: float
    ci_low: float
    ci_high: float
    p: float
    p_holm: float
    found: str
    """The result in words."""
    has_bias: bool


@dataclass(frozen=True, slots=True, eq=False)
class Biases:
    """All that was measured; empty where the data do not allow it."""

    data: JudgedUnits | None
    """None if there are only verdicts."""
    resamples: int
    seed: int
    clustered_by: str
    """The noun for a cluster, such as ``user``."""
    verbosity: tuple[Verbosity, ...] = ()
    self_preference: tuple[SelfPreference, ...] = ()
    leniency: tuple[Leniency, ...] = ()
    range_use: tuple[RangeUse, ...] = ()
    wording: tuple[Between, ...] = ()
    repeatability: tuple[Between, ...] = ()
    position: tuple[Position, ...] = ()
    pairwise: tuple[PairwiseEffects, ...] = ()
    verdicts_between: tuple[VerdictsBetween, ...] = ()
    tests: tuple[Test, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Verdicts:
    """Verdicts of pairwise judges, and the truth, lengths and generators of their texts."""

    pairs: tuple[VerdictPairs, ...]
    truth: pd.DataFrame
    length: pd.DataFrame | None
    generators: tuple[str, ...]


@one_thread()
def measure(
    data: JudgedUnits | None,
    verdicts: Verdicts | None = None,
    *,
    signatures: Mapping[str, Mapping[str, Any]] | None = None,
    families: Mapping[str, str | None] | None = None,
    clustered_by: str = "user",
    resamples: int = 10_000,
    seed: int = 0,
) -> Biases:
    """Measure the biases of judges.

    Parameters
    ----------
    data
        Scores and truth; None if there are only verdicts.
    verdicts
        Of pairwise judges; None if there are none.
    signatures
        Name of a judge → its signature: those that differ in ``prompt`` alone are wordings, those that
        differ in ``replicate`` alone are repetitions of one judge.
    families
        Name of each judge and generator → its family of models, or None.
    clustered_by
        The noun for a cluster.
    resamples, seed
        Of the bootstrap, and of the random signs of the tests.
    """
    found = Biases(data, resamples, seed, clustered_by)
    signatures, families = signatures or {}, families or {}
    if data is not None:
        judges, resampler = data.judges, Resampler(data.n_clusters, resamples, seed)
        own = {j: own_family(data, j, families) for j in judges}
        wordings = differing_in(PROMPT, signatures, judges)
        found = replace(
            found,
            verbosity=_known(verbosity(data, j, resampler, is_own=own[j]) for j in judges),
            self_preference=_known(self_preference(data, j, families, resampler) for j in judges),
            leniency=_known(leniency(data, j, resampler) for j in judges),
            range_use=_known(range_use(data, j, resampler) for j in judges),
            wording=tuple(between(data, two, resampler) for g in wordings for two in combinations(g, 2)),
            repeatability=tuple(
                between(data, group, resampler) for group in differing_in(REPLICATE, signatures, judges)
            ),
        )
    if verdicts is not None:
        made: dict[str, int] = {"resamples": resamples, "seed": seed}
        of, generators = verdicts, verdicts.generators
        found = replace(
            found,
            position=_known(position(pairs, **made) for pairs in of.pairs),
            pairwise=tuple(
                pairwise_effects(
                    pairs,
                    of.truth,
                    of.length,
                    own_generators(generators, families.get(pairs.judge), families),
                    **made,
                )
                for pairs in of.pairs
                if len(pairs.frame)
            ),
            verdicts_between=tuple(verdicts_between(of.pairs, signatures, **made)),
        )
    return replace(found, tests=_tests(found))


def _known(found: Iterable[T | None]) -> tuple[T, ...]:
    return tuple(one for one in found if one is not None)


def _tests(found: Biases) -> tuple[Test, ...]:
    """Return all tests, judge by judge, corrected together."""
    asked: list[tuple[str, str, BiasQuestion, Measured]] = [
        *((p.judge, p.aspect, POSITION, p.first) for p in found.position),
        *(
            (e.judge, e.aspect, question, numbers)
            for e in found.pairwise
            for question, numbers in ((WINS_BY_LENGTH, e.length), (WINS_BY_FAMILY, e.family))
            if numbers is not None
        ),
        *((v.judge, "", VERBOSITY, v.doubling.best) for v in found.verbosity),
        *((s.judge, "", SELF_PREFERENCE, s.points.best) for s in found.self_preference),
        *((x.judge, "", LENIENCY, x.difference) for x in found.leniency),
        *((x.judge, "", CENTRAL, x.spread) for x in found.leniency),
        *((r.judge, "", RANGE, r.entropy) for r in found.range_use),
        *((" / ".join(b.judges), "", WORDING, b.shift) for b in found.wording),
        *((" / ".join(b.judges), "", REPEATABILITY, b.shift) for b in found.repeatability),
        *(
            (" / ".join(b.judges), b.aspect, VERDICTS_BETWEEN[b.differ_in], b.shift)
            for b in found.verdicts_between
        ),
    ]
    judges = list(dict.fromkeys(judge for judge, *_ in asked))
    asked.sort(key=lambda one: judges.index(one[0]))
    adjusted = holm([float(numbers.p[-1]) for *_, numbers in asked])
    return tuple(_test(*one, float(p)) for one, p in zip(asked, adjusted, strict=True))


def _test(judge: str, aspect: str, question: BiasQuestion, numbers: Measured, p_holm: float) -> Test:
    estimate, low, high, p = (float(v[-1]) for v in (numbers.value, numbers.low, numbers.high, numbers.p))
    has_bias = bool(p_holm < ALPHA)
    if has_bias:
        words = question.above if estimate > question.none else question.below
    elif np.isnan(p):
        words = "not defined"
    else:
        words = "no bias found" if numbers.n >= FEWEST_CLUSTERS else "too few to tell"
    return Test(
        judge, question.bias, question.number, aspect, estimate, low, high, p, p_holm, words, has_bias
    )
