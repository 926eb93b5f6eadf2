"""The biases of judges, each a number with an interval and a test; one correction for all tests."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from metaeval.stats.resampling.bootstrap import Resampler
from metaeval.stats.resampling.multiplicity import holm
from metaeval.stats.resampling.threads import one_thread
from metaeval.trust.bias.between import Between, between, differing_in
from metaeval.trust.bias.clustered import FEWEST_CLUSTERS
from metaeval.trust.bias.leniency import Leniency, leniency
from metaeval.trust.bias.range_use import RangeUse, range_use
from metaeval.trust.bias.self_preference import SelfPreference, own_family, own_generators, self_preference
from metaeval.trust.bias.verbosity import Verbosity, verbosity
from metaeval.trust.bias.verdicts.between import PROMPT, VerdictsBetween, verdicts_between
from metaeval.trust.bias.verdicts.effects import PairwiseEffects, pairwise_effects
from metaeval.trust.bias.verdicts.position import Position, VerdictPairs, position

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import pandas as pd

    from metaeval.trust.bias.arrays import JudgedUnits
    from metaeval.trust.bias.clustered import Measured

ALPHA = 0.05


class Question(NamedTuple):
    """What is tested of a bias."""

    bias: str
    number: str
    """What the number is."""
    above: str
    """What is said of a number that is significantly above that of no bias, and below it."""
    below: str
    none: float = 0.0
    """The number of a judge without the bias."""


POSITION = Question(
    "position", "verdicts won by the text shown first", "prefers the first", "prefers the second", 0.5
)
VERBOSITY = Question(
    "verbosity", "points for twice the length", "scores longer texts higher", "scores shorter texts higher"
)
WINS_BY_LENGTH = VERBOSITY._replace(number="share of a win for twice the length")
SELF_PREFERENCE = Question(
    "self-preference", "points for its own family", "favours its own family", "scores its own family lower"
)
WINS_BY_FAMILY = SELF_PREFERENCE._replace(number="share of a win for its own family")
LENIENCY = Question(
    "leniency", "mean of score − truth", "scores higher than people", "scores lower than people"
)
CENTRAL = Question(
    "central tendency",
    "spread of scores / truth",
    "spreads scores wider than people",
    "keeps scores closer together than people",
    1.0,
)
RANGE = Question(
    "range use", "entropy of scores / truth", "uses more of the scale", "uses less of the scale", 1.0
)
WORDING = Question("wording", "points that the wording moves scores", *2 * ("the wording moves its scores",))
REPEATABILITY = Question(
    "repeatability", "points between repetitions", *2 * ("a repetition moves its scores",)
)


_FOR_FIRST = "moves its preference for the first"
VERDICTS_BY_WORDING = Question(
    "wording", "what the wording adds to the share of the first shown", *2 * (f"the wording {_FOR_FIRST}",)
)
VERDICTS_REPEATED = Question(
    "repeatability",
    "what a repetition adds to the share of the first shown",
    *2 * (f"a repetition {_FOR_FIRST}",),
)


class Test(NamedTuple):
    """One tested number of one judge, over all aspects."""

    judge: str
    bias: str
    number: str
    aspect: str
    """Of pairwise verdicts; empty for scores, of which the mean over the aspects is tested."""
    estimate: float
    ci_low: float
    ci_high: float
    p: float
    p_holm: float
    found: str
    """In words."""
    has_bias: bool


@dataclass(frozen=True, slots=True, eq=False)
class Biases:
    """All that was measured of the judges; what the data have nothing for is left out."""

    data: JudgedUnits | None
    """None if no judge scores single texts."""
    verbosity: tuple[Verbosity, ...]
    self_preference: tuple[SelfPreference, ...]
    leniency: tuple[Leniency, ...]
    range_use: tuple[RangeUse, ...]
    wording: tuple[Between, ...]
    repeatability: tuple[Between, ...]
    position: tuple[Position, ...]
    pairwise: tuple[PairwiseEffects, ...]
    verdicts_between: tuple[VerdictsBetween, ...]
    tests: tuple[Test, ...]
    families: Mapping[str, str | None]
    resamples: int
    seed: int


@dataclass(frozen=True, slots=True, eq=False)
class Verdicts:
    """What pairwise judges said, and what their verdicts are held against."""

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
    resamples, seed
        Of the bootstrap, and of the random signs of the tests.
    """
    of = families or {}
    verbose: list[Verbosity | None] = []
    selfish: list[SelfPreference | None] = []
    lenient: list[Leniency | None] = []
    ranges: list[RangeUse | None] = []
    wordings: list[Between] = []
    repeated: list[Between] = []
    if data is not None:
        resampler = Resampler(data.n_clusters, resamples, seed)
        for judge in data.judges:
            verbose.append(verbosity(data, judge, resampler, is_own=own_family(data, judge, of)))
            selfish.append(self_preference(data, judge, of, resampler))
            lenient.append(leniency(data, judge, resampler))
            ranges.append(range_use(data, judge, resampler))
        for group in differing_in("prompt", signatures or {}, data.judges):
            wordings += [between(data, pair, resampler) for pair in combinations(group, 2)]
        repeated = [
            between(data, g, resampler) for g in differing_in("replicate", signatures or {}, data.judges)
        ]
    places: list[Position | None] = []
    effects: list[PairwiseEffects] = []
    for pairs in verdicts.pairs if verdicts else ():
        places.append(position(pairs, resamples=resamples, seed=seed))
        if verdicts and len(pairs.frame):
            own = own_generators(verdicts.generators, of.get(pairs.judge), of)
            effects.append(
                pairwise_effects(pairs, verdicts.truth, verdicts.length, own, resamples=resamples, seed=seed)
            )
    apart = verdicts_between(
        verdicts.pairs if verdicts else (), signatures or {}, resamples=resamples, seed=seed
    )
    found = Biases(
        data,
        tuple(v for v in verbose if v is not None),
        tuple(s for s in selfish if s is not None),
        tuple(x for x in lenient if x is not None),
        tuple(r for r in ranges if r is not None),
        tuple(wordings),
        tuple(repeated),
        tuple(p for p in places if p is not None),
        tuple(effects),
        tuple(apart),
        (),
        of,
        resamples,
        seed,
    )
    return replace(found, tests=_tests(found))


def _tests(found: Biases) -> tuple[Test, ...]:
    """Return the tests of all numbers, corrected together."""
    asked = list(_asked(found))
    adjusted = holm([float(a.numbers.p[-1]) for a in asked])
    return tuple(_test(a, float(p)) for a, p in zip(asked, adjusted, strict=True))


class _Asked(NamedTuple):
    """What is tested of whom."""

    judge: str
    aspect: str
    question: Question
    numbers: Measured
    n_clusters: int


def _asked(found: Biases) -> Iterator[_Asked]:
    """Yield all that is tested, judge by judge."""
    rows: list[_Asked] = []
    n = found.data.n_clusters if found.data else 0
    clusters = {(p.judge, p.aspect): p.n_clusters for p in found.position}
    rows += [_Asked(p.judge, p.aspect, POSITION, p.first, p.n_clusters) for p in found.position]
    for e in found.pairwise:
        of_pairs = clusters.get((e.judge, e.aspect), 0)
        if e.length is not None:
            rows.append(_Asked(e.judge, e.aspect, WINS_BY_LENGTH, e.length, of_pairs))
        if e.family is not None:
            rows.append(_Asked(e.judge, e.aspect, WINS_BY_FAMILY, e.family, of_pairs))
    rows += [_Asked(v.judge, "", VERBOSITY, v.doubling.best, n) for v in found.verbosity]
    rows += [_Asked(s.judge, "", SELF_PREFERENCE, s.points.best, n) for s in found.self_preference]
    rows += [_Asked(x.judge, "", LENIENCY, x.difference, n) for x in found.leniency]
    rows += [_Asked(x.judge, "", CENTRAL, x.spread, n) for x in found.leniency]
    rows += [_Asked(r.judge, "", RANGE, r.entropy, n) for r in found.range_use]
    for question, groups in ((WORDING, found.wording), (REPEATABILITY, found.repeatability)):
        rows += [_Asked(" / ".join(b.judges), "", question, b.shift, n) for b in groups]
    for between_two in found.verdicts_between:
        asked_of = " / ".join(between_two.judges)
        question = VERDICTS_BY_WORDING if between_two.differ_in == PROMPT else VERDICTS_REPEATED
        rows.append(_Asked(asked_of, between_two.aspect, question, between_two.shift, between_two.n_clusters))
    order = {judge: i for i, judge in enumerate(dict.fromkeys(row.judge for row in rows))}
    yield from sorted(rows, key=lambda row: order[row.judge])


def _test(asked: _Asked, p_holm: float) -> Test:
    judge, aspect, question, numbers, n = asked
    estimate, low, high, p = (float(v[-1]) for v in (numbers.value, numbers.low, numbers.high, numbers.p))
    has_bias = bool(p_holm < ALPHA)
    if has_bias:
        words = question.above if estimate > question.none else question.below
    elif np.isnan(p):
        words = "not defined"
    else:
        words = "no bias found" if n >= FEWEST_CLUSTERS else "too few to tell"
    return Test(
        judge, question.bias, question.number, aspect, estimate, low, high, p, p_holm, words, has_bias
    )
