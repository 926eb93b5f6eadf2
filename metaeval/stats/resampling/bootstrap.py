"""The cluster bootstrap, for any statistic that is a function of cluster weights.

Above 100,000 clusters, `bootstrap` takes the jackknife of a smooth statistic
(`metaeval.stats.resampling.cluster_sums`).

The weight of a cluster says how often its units count. The estimate is the statistic at weights of one; a
bootstrap resample is another column of weights, and so is a jackknife sample, which leaves one cluster out.

Examples
--------
The share of recommendations that were clicked, and its interval when users are resampled. A share is two sums
by user and a division (`metaeval.stats.resampling.cluster_sums`).

>>> import numpy as np
>>> from metaeval.stats.resampling.bootstrap import Resampler, bootstrap
>>> from metaeval.stats.resampling.cluster_sums import mean_of
>>> user = np.array([0, 0, 1, 1, 2, 2, 2, 3, 4, 4, 5])
>>> clicked = np.array([1, 0, 1, 1, 0, 0, 1, 1, 1, 0, 0])
>>> clicks, shown = np.bincount(user, clicked), np.bincount(user)  # by user
>>> share = mean_of(clicks[None], shown[None])
>>> found = bootstrap(share, Resampler(6, resamples=2_000, seed=1), bounds=(0.0, 1.0))
>>> print(f"{found.value[0]:.2f} [{found.low[0]:.2f}, {found.high[0]:.2f}] from {found.n} users")
0.55 [0.24, 0.91] from 6 users
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from metaeval.stats.coefficients.tables import Floats
from metaeval.stats.resampling.cluster_sums import (
    LIMIT,
    Statistic,
    WithAverage,
    is_smooth,
    jackknife_deviations,
    jackknife_interval,
)
from metaeval.stats.resampling.significance import FEWEST_CLUSTERS
from metaeval.stats.resampling.weights import (
    EQUAL,
    Method,
    Resamples,
    Swaps,
    interval,
    left_out,
    level_of,
    percentile_interval,
)

_KEPT = 2**25  # weights that are cached, over all numbers of clusters
_BYTES = 2**28  # the same as bytes, where there are more; still more are drawn again each time
_PROBED = 8  # clusters that are left out one by one at first, to see that six of them bear on a value

V = TypeVar("V")


@dataclass(frozen=True, slots=True, eq=False)
class Estimate(Generic[V]):
    """Values with their intervals: arrays of one shape, or single numbers; NaN where undefined.

    From fewer clusters than `FEWEST_CLUSTERS` there is no interval, whoever made it.
    """

    value: V
    low: V
    high: V
    n: int
    """Clusters that were resampled."""

    def __post_init__(self) -> None:
        if self.n < FEWEST_CLUSTERS:
            for end in ("low", "high"):
                object.__setattr__(self, end, np.multiply(cast("Any", self.value), np.nan))

    def row(self, name: str) -> dict[str, V]:
        """Return the cells of a table: ``name``, ``name_low`` and ``name_high``."""
        return {name: self.value, f"{name}_low": self.low, f"{name}_high": self.high}


NOTHING = Estimate(np.nan, np.nan, np.nan, 0)
"""An undefined value."""


def each(found: Estimate[Floats]) -> list[Estimate[float]]:
    """Split an estimate of several values into estimates of one."""
    values = zip(found.value, found.low, found.high, strict=True)
    return [Estimate(float(value), float(low), float(high), found.n) for value, low, high in values]


@dataclass(frozen=True, slots=True, eq=False)
class Resampler:
    """How clusters are resampled and intervals are made; the same resamples for all statistics."""

    n_clusters: int
    resamples: int = 10_000
    seed: int = 0
    confidence: float = 0.95
    method: Method = "percentile"
    expand: bool = True
    """Whether intervals are widened for few clusters (`metaeval.stats.resampling.weights.expanded`)."""
    _kept: dict[int, tuple[Floats, ...] | list[NDArray[np.uint8]]] = field(default_factory=dict, repr=False)

    def of(self, n_clusters: int) -> Resampler:
        """Return the same for another number of clusters; both share the cache of weights."""
        return replace(self, n_clusters=n_clusters)

    def at_most(self, resamples: int) -> Resampler:
        """Return the same with so many resamples at most, and a cache of its own."""
        return replace(self, resamples=min(resamples, self.resamples), _kept={})

    @property
    def made_by(self) -> Method:
        """How intervals of smooth statistics are made: the method, or what takes its place above the limit.

        A statistic that is not smooth takes percentiles in the jackknife's place, and no stretch.
        """
        return self.method if self.n_clusters <= LIMIT else "jackknife"

    @property
    def level(self) -> float:
        """The confidence level at which percentiles are taken; NaN of few clusters."""
        return level_of(self.confidence, self.n_clusters, expand=self.expand)

    @property
    def swaps(self) -> Swaps:
        """As many random swaps of clusters, for permutation tests."""
        return Swaps(self.n_clusters, self.resamples, self.seed)

    def weights(self) -> Iterable[Floats]:
        """Return the weights of the resamples, block by block; drawn again if they do not fit the cache."""
        drawn = Resamples(self.n_clusters, self.resamples, self.seed).blocks()
        if self.n_clusters not in self._kept:
            size = (self.n_clusters + sum(self._kept)) * self.resamples
            if size > _BYTES:
                return drawn
            # No cluster is drawn more than 255 times.
            few = size <= _KEPT
            self._kept[self.n_clusters] = tuple(drawn) if few else [b.astype(np.uint8) for b in drawn]
        found = self._kept[self.n_clusters]
        if isinstance(found, tuple):
            return found
        return (block.astype(np.float64) for block in found)

    def replicates(self, statistic: Statistic) -> Floats:
        """Return a statistic in every resample, shape (values, resamples)."""
        return _over(statistic, self.weights())


def jackknife(statistic: Statistic, n_clusters: int) -> Floats:
    """Return a statistic without each cluster in turn, shape (values, clusters): see ``left_out``."""
    return _over(statistic, left_out(n_clusters))


def refitted_interval(statistic: Statistic, resampler: Resampler) -> Estimate[Floats]:
    """Estimate a statistic of which few resamples are affordable: ± the t quantile × their deviation."""
    value = statistic.at(np.ones((resampler.n_clusters, 1)))[:, 0]
    spread = np.nanstd(resampler.replicates(statistic), axis=1, ddof=1)
    from scipy.special import stdtrit

    half = stdtrit(resampler.resamples - 1, (1 + resampler.confidence) / 2) * spread
    return Estimate(value, value - half, value + half, resampler.n_clusters)


def bootstrap(
    statistic: Statistic,
    resampler: Resampler,
    *,
    bounds: tuple[float, float] | Sequence[tuple[float, float]] = (-np.inf, np.inf),
    stretch: bool = True,
) -> Estimate[Floats]:
    """Estimate a statistic, with an interval of each of its values.

    Parameters
    ----------
    resampler
        The clusters, the number of resamples, and the kind of interval. A value on which fewer clusters than
        `FEWEST_CLUSTERS` bear has none.
    bounds
        The smallest and the largest possible value, such as -1 and 1 of a correlation, of all values or of
        each. With 0 and 1, values are shares: one that is 0 or 1 in every resample gets the exact binomial
        interval of so many clusters (Clopper & Pearson 1934).
    stretch
        Whether a resampler that expands intervals also widens them where the jackknife's variance is larger
        (`metaeval.stats.resampling.weights.interval`); otherwise they are percentiles.
    """
    n = resampler.n_clusters
    value = statistic.at(np.ones((n, 1)))[:, 0]
    if n < FEWEST_CLUSTERS:
        return Estimate(value, value, value, n)
    least, most = np.moveaxis(np.asarray(bounds, dtype=np.float64), -1, 0)
    if resampler.made_by == "jackknife" and is_smooth(statistic):
        drawn = jackknife_deviations(statistic, n)
        low, high = jackknife_interval(value, drawn, resampler.confidence, least, most)
    else:
        drawn = resampler.replicates(statistic)
        low, high = _ends(statistic, value, drawn, resampler, stretch=stretch)
    shares = (least == 0) & (most == 1)
    if shares.any():
        rare = 1 - ((1 - resampler.confidence) / 2) ** (1 / n)
        alike = np.nanmin(drawn, axis=1, initial=np.inf) == np.nanmax(drawn, axis=1, initial=-np.inf)
        alike &= shares
        high = np.where(alike & (value == 0), rare, high)
        low = np.where(alike & (value == 1), 1 - rare, low)
    none = np.where(rest_on_enough(statistic, value, n), 0.0, np.nan)
    return Estimate(value, np.clip(low, least, most) + none, np.clip(high, least, most) + none, n)


def rest_on_enough(statistic: Statistic, value: Floats, n: int) -> NDArray[np.bool_]:
    """Say on which values `FEWEST_CLUSTERS` of n clusters or more bear, shape (values,).

    A cluster bears on a value that changes without it, or that it has alone. Parts on which none does are
    passed over. Where all are alike, such as in r = 1, the others together may still have the value.
    """
    bears: NDArray[np.bool_] = np.zeros((len(value), n), dtype=bool)
    parts = np.split(np.arange(n), range(1, min(n, _PROBED)))
    enough = np.isnan(value)
    while parts and not enough.all():
        now, parts = parts[:_PROBED], parts[_PROBED:]
        alone = np.stack([np.bincount(part, minlength=n) for part in now], axis=1).astype(np.float64)
        without, own = np.split(statistic.at(np.concatenate([1 - alone, alone], axis=1)), 2, axis=1)
        found = ~np.isnan(own) | ~(np.abs(without - value[:, None]) <= EQUAL)
        for part, of_part in zip(now, found.T, strict=True):
            if len(part) == 1:
                bears[:, part[0]] = of_part
            elif of_part[~enough].any():
                parts += np.array_split(part, min(len(part), _PROBED))
        enough |= bears.sum(axis=1) >= FEWEST_CLUSTERS
    if not enough.all() and n >= FEWEST_CLUSTERS:
        few = np.flatnonzero(~enough)
        enough[few] = ~np.isnan(np.diagonal(statistic.at((~bears[few]).T.astype(np.float64))[few]))
    if isinstance(statistic, WithAverage):
        by_aspect = enough.reshape(-1, statistic.values)
        by_aspect[-1] = by_aspect.all(axis=0)
    return enough


def estimated(
    statistic: Statistic,
    n_clusters: int,
    resampler: Resampler | None,
    *,
    bounds: tuple[float, float] | Sequence[tuple[float, float]] = (-np.inf, np.inf),
    stretch: bool = True,
) -> Estimate[Floats]:
    """Estimate a statistic as `bootstrap` does; without a resampler it has no intervals."""
    if resampler is not None:
        return bootstrap(statistic, resampler.of(n_clusters), bounds=bounds, stretch=stretch)
    value = statistic.at(np.ones((n_clusters, 1)))[:, 0]
    return Estimate(value, value * np.nan, value * np.nan, n_clusters)


def _ends(
    statistic: Statistic, value: Floats, drawn: Floats, resampler: Resampler, *, stretch: bool
) -> tuple[Floats, Floats]:
    """Return the ends of intervals from resamples."""
    made_by = resampler.made_by
    if made_by == "jackknife" or (made_by != "bca" and not (resampler.expand and stretch)):
        return percentile_interval(drawn, resampler.level)
    n = resampler.n_clusters
    return interval(
        value,
        drawn,
        jackknife(statistic, n),
        n_clusters=n,
        confidence=resampler.confidence,
        method=resampler.method,
        expand=resampler.expand,
        bounds=(-np.inf, np.inf),
    )


def _over(statistic: Statistic, blocks: Iterable[Floats]) -> Floats:
    parts = [statistic.at(weights) for weights in blocks]
    return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)
