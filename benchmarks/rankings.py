"""Coverage of what ``metaeval generators`` prints: means, rankings, and estimates from few ratings."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy.special import ndtr

from benchmarks.generator_means import ITEMS, STRONG, TASTE, WEAK, Study, correlations, study
from benchmarks.shares import AT_MOST, COVERS, row
from metaeval.analysis.generator_ranking import rank_generators
from metaeval.engine.alignment.policy import Policy
from metaeval.engine.alignment.prepared import Prepared, prepare
from metaeval.engine.intervals import Bootstrap
from metaeval.stats.regression.prediction_powered import estimate
from metaeval.stats.resampling.weights import one_thread

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.generator_means import Evaluator
    from metaeval.analysis.generator_ranking import GeneratorRankings
    from metaeval.stats.coefficients.tables import Floats, Ints

RESAMPLES = 999


@dataclass(frozen=True, slots=True)
class Frame:
    """Studies of equal sizes in the form that the analysis takes: aligned once, for all of them."""

    data: Prepared
    order: Ints
    """The place of each aligned unit in a study."""

    @classmethod
    def of(cls, s: Study) -> Frame:
        """Align a study."""
        keys = {"user_id": s.user, "item_id": np.arange(len(s.user)) % ITEMS, "generator": s.generator}
        unit = pd.DataFrame({name: pd.Series(codes).astype(str) for name, codes in keys.items()})
        place = np.arange(len(s.user), dtype=np.float64)
        truth = unit.assign(aspect="fit", rating=place)
        scores = unit.assign(aspect="fit", evaluator="judge", score=place)
        data = prepare(scores, truth, Policy.of(["generator"], ["kendall"], None, "skip", "common"))
        return cls(data, data.truth[0].astype(np.int64))

    def ranked(self, s: Study, seed: int) -> GeneratorRankings:
        """Rank the generators of a study of the same sizes; by name, as numbers in text."""
        again = replace(self.data, truth=s.y[self.order][None], scores=s.x[self.order][None, None])
        return rank_generators(again, bootstrap=Bootstrap(resamples=RESAMPLES, seed=seed))


def soft(true: Floats, users: int) -> float:
    """Return the soft pairwise accuracy of p-values that the true means would have in such a study."""
    first, second = np.triu_indices(true.shape[1], 1)
    z = (true[:, first] - true[:, second]) / np.sqrt(2 * (TASTE**2 + 1 / ITEMS) / users)
    p, q = ndtr(z)
    return float(1 - np.abs(p - q).mean())


@one_thread()
def agreement(studies: int, generators: int, users: int, evaluator: Evaluator) -> Iterator[dict[str, Any]]:
    """Yield how often intervals of agreement, and of a generator's mean, hold."""
    rng = np.random.default_rng([generators, users, 3])
    frame = Frame.of(study(rng, generators, users, evaluator))
    hits, n, means = np.zeros(2), 0, 0.0
    for i in range(studies):
        s = study(rng, generators, users, evaluator)
        found = frame.ranked(s, i)
        true = s.true[1, [int(name) for name in found.generators]]
        means += ((found.ratings.low[0] <= true) & (true <= found.ratings.high[0])).mean()
        a = found.evaluators[0].agreement[0]
        if np.isnan(a.tau_ci_low):
            continue
        n += 1
        tau, accuracy = correlations(s.true)[2], soft(s.true, users)
        hits += [
            a.tau_ci_low - 1e-8 <= tau <= a.tau_ci_high + 1e-8,
            a.soft_ci_low <= accuracy <= a.soft_ci_high,
        ]
    what = f"{generators} generators, {users} users, {evaluator.name}"
    shares = {"kendall": float(hits[0] / n), "soft_pairwise_accuracy": float(hits[1] / n)}
    yield row(f"rankings of generators agree, {what}", n, shares, COVERS, without_interval=studies - n)
    yield row(f"means of generators, {what}", studies, {"mean": float(means / studies)}, COVERS)


@one_thread()
def ranges(studies: int, generators: int, users: int) -> dict[str, Any]:
    """Return how often a generator among equal ones has a rank range that lacks a rank."""
    rng = np.random.default_rng([generators, users, 4])
    frame = Frame.of(study(rng, generators, users, STRONG))
    apart = 0
    for i in range(studies):
        s = study(rng, generators, users, STRONG)
        level = replace(s, y=s.y - s.true[1][s.generator])
        apart += int(frame.ranked(level, i).ratings.rank_low.max() > 1)
    what = f"equal generators with different rank ranges, {generators} generators, {users} users"
    return row(what, studies, {"false_positives": apart / studies}, AT_MOST)


def prediction_powered(studies: int, users: int, rated: int, judge: float) -> dict[str, Any]:
    """Return how often prediction-powered intervals of a generator's mean hold; many means are one study."""
    rng = np.random.default_rng([users, rated])
    shape = (studies, users, ITEMS)
    (level, judged_level), (unit, judged_unit) = (
        (v, judge * v + np.sqrt(1 - judge**2) * e)
        for v, e in (rng.normal(size=(2, *size)) for size in ((studies, users, 1), shape))
    )
    y = np.where(np.arange(users)[:, None] < rated, level + unit, np.nan)
    generator, cluster, _ = np.indices(shape)
    found = estimate(
        y.ravel(),
        (judged_level + judged_unit).ravel(),
        generator.ravel(),
        studies,
        cluster.ravel(),
        users,
    )
    share = float(((found.ci_low <= 0) & (found.ci_high >= 0)).mean())
    what = f"prediction-powered means, {rated} of {users} users rated, scores that correlate at {judge}"
    return row(what, studies, {"mean": share}, COVERS)


def run(studies: int, *, quick: bool = False) -> Iterator[dict[str, Any]]:
    """Yield one result after the other."""
    for generators, users in ((8, 40),) if quick else ((6, 20), (6, 100), (8, 40), (12, 20), (12, 100)):
        for evaluator in (STRONG, WEAK):
            yield from agreement(studies, generators, users, evaluator)
        yield ranges(studies, generators, users)
    for users, rated, judge in ((60, 24, 0.9), (60, 24, 0.3), (200, 12, 0.6)):
        yield prediction_powered(studies, users, rated, judge)
