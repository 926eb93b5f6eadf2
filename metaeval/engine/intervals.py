"""Bootstrap intervals of correlations: clusters of units resampled, alike for all evaluators and aspects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from metaeval.base.errors import MetaevalError, shown
from metaeval.base.progress import progress
from metaeval.base.validation import ByKey, Count, Options, Seed, Share, Switch
from metaeval.stats.coefficients.levels import Estimates
from metaeval.stats.coefficients.tables import Floats
from metaeval.stats.regression.true_means import NoisyMeans, Normals, draw, interval_of_draws
from metaeval.stats.resampling.bootstrap import Estimate, Resampler, bootstrap
from metaeval.stats.resampling.cluster_sums import Stack, Statistic, WithAverage
from metaeval.stats.resampling.weights import Method, in_threads, one_thread
from metaeval.stats.weighted.statistic import statistic
from metaeval.stats.weighted.sums import Clusters

if TYPE_CHECKING:
    from metaeval.engine.alignment.prepared import Prepared


class Bootstrap(Options):
    """How intervals are made: clusters of units, drawn with replacement."""

    called = "bootstrap"
    resamples: Count = 10_000
    cluster: ByKey = None
    """What is drawn: ``user``, ``item``, ``generator`` or ``unit``; if None, users, or items where there are
    no users."""
    confidence: Share = 0.95
    method: Method = "percentile"
    """How ends are found; above 100,000 clusters, values that are smooth take the jackknife."""
    expand: Switch = True
    """Whether intervals are widened for few clusters; see `metaeval.stats.resampling.weights.interval`."""
    seed: Seed = 0

    @classmethod
    def read(cls, given: Mapping[str, Any] | None, seed: int = 0) -> Bootstrap | None:
        """Read the options of `metaeval.correlate`; `MetaevalError` for an unknown option or value."""
        if given is None:
            return None
        if not isinstance(given, Mapping):
            raise MetaevalError(
                f"bootstrap must be a mapping, such as {{'resamples': 10000}}, not {shown(given)}"
            )
        return cls.model_validate({"seed": seed, **given})

    def by(self, cluster: str) -> Bootstrap:
        """Return the same of another cluster."""
        return self.model_copy(update={"cluster": cluster})

    def resampler(self, n_clusters: int = 0) -> Resampler:
        """Return what resamples clusters and makes intervals in this way."""
        return Resampler(
            n_clusters, self.resamples, self.seed, self.confidence, self.method, expand=self.expand
        )

    def record(self, data: Prepared) -> dict[str, Any]:
        """Return the options, the method that was used, and the number of clusters, as JSON values."""
        cluster = data.cluster_name(self.cluster)
        return self.record_of(cluster, data.clusters(cluster).n)

    def record_of(self, cluster: str, n: int) -> dict[str, Any]:
        """Return the same for so many clusters."""
        made_by = self.resampler(n).made_by
        return {**self.model_dump(), "method": made_by, "cluster": cluster, "n_clusters": n}


@dataclass(frozen=True, slots=True, eq=False)
class IntervalEnds:
    """Intervals of all estimates, shape (E, A + 1, levels × coefficients); the last aspect is the average."""

    low: Floats
    high: Floats
    corrected: Floats
    """At generator level, the estimate corrected for the noise of the means; NaN at other levels."""
    no_interval: dict[str, dict[str, list[str]]]
    """At generator level, what has none: the reason (`NoInterval`) → the evaluator → its aspects."""


@one_thread()
def intervals(data: Prepared, found: Mapping[tuple[str, str], Estimates], wanted: Bootstrap) -> IntervalEnds:
    """Return the intervals of all estimates, which are ``found``.

    At levels of groups they are those of the bootstrap; of the correlation of generators' means, those of
    `metaeval.stats.regression.true_means`.
    """
    clusters = data.clusters(data.cluster_name(wanted.cluster))
    levels, n_coefficients = data.policy.levels, len(data.policy.coefficients)
    aspects = range(len(data.aspects))
    shape = (len(data.evaluators), len(aspects) + 1, len(levels) * n_coefficients)
    ends = IntervalEnds(np.full(shape, np.nan), np.full(shape, np.nan), np.full(shape, np.nan), {})
    resampled = np.repeat([level not in data.between for level in levels], n_coefficients)
    resampler = wanted.resampler(clusters.n)
    normals = {
        level: Normals.of(len(aspects), data.groupings[level].n_groups, wanted.resamples, wanted.seed)
        for level in data.between
    }
    cells = int(resampled.sum())

    def resampled_of(e: int) -> Estimate[Floats]:
        of_levels = [s for a in aspects for s in statistics_of(data, found, e, a, clusters)]
        return bootstrap(WithAverage(Stack(of_levels), cells), resampler, bounds=(-1.0, 1.0))

    evaluators = range(len(data.evaluators))
    found_of: Iterable[Estimate[Floats] | None] = [None] * len(evaluators)
    if cells:
        resampler.weights()  # once for all threads
        found_of = in_threads(resampled_of, evaluators)
    with progress("intervals", len(evaluators)) as advance:
        for e, of_all in enumerate(found_of):
            if of_all is not None:
                # A single aspect is its own average.
                ends.low[e][:, resampled] = of_all.low.reshape(-1, cells)
                ends.high[e][:, resampled] = of_all.high.reshape(-1, cells)
            for level, drawn in normals.items():
                _of_true_means(ends, data, e, level, clusters, drawn, wanted.confidence)
            advance()
    return ends


def _of_true_means(  # noqa: PLR0917 - one evaluator's part of `intervals`
    ends: IntervalEnds,
    data: Prepared,
    evaluator: int,
    level: str,
    clusters: Clusters,
    normals: Normals,
    confidence: float,
) -> None:
    """Fill in an evaluator's correlations of generators' means."""
    g = data.groupings[level]
    aspects = []
    for a in range(len(data.aspects)):
        units = data.units(evaluator, a)
        x, y = data.scores[evaluator, a, units], data.truth[a, units]
        aspects.append(NoisyMeans.of(x, y, g.group[units], g.n_groups, clusters.take(units)))
    drawn = draw(aspects, normals)
    coefficients, n = data.policy.coefficients, normals.n
    draws = np.stack([d.coefficients(coefficients, n, undefined=data.policy.undefined) for d in drawn])
    draws = np.concatenate([draws, draws.mean(axis=0, keepdims=True)])
    at = data.policy.levels.index(level) * len(coefficients) + np.arange(len(coefficients))
    low, corrected, high = interval_of_draws(draws, confidence)
    ends.low[evaluator][:, at], ends.high[evaluator][:, at] = low, high
    ends.corrected[evaluator][:, at] = corrected
    for aspect, d in zip(data.aspects, drawn, strict=True):
        if d.reason is not None:
            of_reason = ends.no_interval.setdefault(d.reason.value, {})
            of_reason.setdefault(data.evaluators[evaluator], []).append(aspect)


def statistics_of(
    data: Prepared,
    found: Mapping[tuple[str, str], Estimates],
    evaluator: int,
    aspect: int,
    clusters: Clusters,
) -> list[Statistic]:
    """Return an evaluator's coefficients within groups, as functions of the clusters' weights, by level."""
    units = data.units(evaluator, aspect)
    x, y = data.scores[evaluator, aspect, units], data.truth[aspect, units]
    row = evaluator * len(data.aspects) + aspect
    statistics = []
    for level in data.policy.levels:
        g = data.groupings[level]
        if g.between:
            continue
        terms = [found[level, c].terms[row] for c in data.policy.coefficients]
        statistics.append(
            statistic(
                x,
                y,
                g.take(units),
                clusters.take(units),
                data.policy.coefficients,
                undefined=data.policy.undefined,
                terms=np.stack(terms),
            )
        )
    return statistics
