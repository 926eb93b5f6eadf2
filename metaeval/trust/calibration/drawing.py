"""Estimates with intervals from weights of clusters, which are drawn once for all that is estimated."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from metaeval.stats.resampling.weights import Resamples, interval, left_out, percentile_interval

if TYPE_CHECKING:
    from collections.abc import Iterable

    from metaeval.engine.intervals import Bootstrap
    from metaeval.stats.coefficients.tables import Floats
    from metaeval.stats.weighted.statistic import Statistic

_KEPT = 2**25  # weights that are kept rather than drawn again


class Value(NamedTuple):
    """A number with its interval; NaN where it is not defined."""

    estimate: float
    low: float
    high: float


NOTHING = Value(float("nan"), float("nan"), float("nan"))


@dataclass(slots=True)
class Draws:
    """Bootstrap weights of any number of clusters: the same for all statistics of that many."""

    wanted: Bootstrap
    _kept: dict[int, list[Floats]] = field(default_factory=dict)

    def coefficients(self, measure: Statistic, n_clusters: int) -> list[Value]:
        """Return each coefficient of a statistic; intervals as those of correlations, in -1 … 1."""
        points = measure.at(np.ones((n_clusters, 1)))[:, 0]
        low, high = interval(
            points,
            _at(measure, self._weights(n_clusters)),
            _at(measure, left_out(n_clusters)),
            n_clusters=n_clusters,
            confidence=self.wanted.confidence,
            method=self.wanted.method,
            expand=self.wanted.expand,
        )
        return _values(points, low, high)

    def numbers(self, measure: Statistic, n_clusters: int) -> list[Value]:
        """Return each number of a statistic that may have any range; percentile intervals."""
        points = measure.at(np.ones((n_clusters, 1)))[:, 0]
        level = self.wanted.levels(n_clusters)
        low, high = percentile_interval(_at(measure, self._weights(n_clusters)), level)
        return _values(points, low, high)

    def _weights(self, n_clusters: int) -> Iterable[Floats]:
        resamples = Resamples(n_clusters, self.wanted.resamples, self.wanted.seed)
        if n_clusters not in self._kept:
            room = _KEPT - self.wanted.resamples * sum(self._kept)
            if n_clusters * self.wanted.resamples > room:
                return resamples.blocks()
            self._kept[n_clusters] = list(resamples.blocks())
        return self._kept[n_clusters]


def _at(measure: Statistic, blocks: Iterable[Floats]) -> Floats:
    return np.concatenate([measure.at(weights) for weights in blocks], axis=1)


def _values(points: Floats, low: Floats, high: Floats) -> list[Value]:
    return [Value(*map(float, v)) for v in zip(points, low, high, strict=True)]
