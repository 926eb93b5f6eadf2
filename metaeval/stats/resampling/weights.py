"""Weights for bootstrap, jackknife, cross-validation and permutations; intervals and p-values from them."""

from __future__ import annotations

import contextlib
import hashlib
import heapq
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar, copy_context
from dataclasses import dataclass
from typing import Literal, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from metaeval.stats.coefficients.tables import Floats
from metaeval.stats.resampling.significance import FEWEST_CLUSTERS

Method: TypeAlias = Literal["percentile", "bca", "jackknife"]

_BLOCK = 2**22  # weights made at a time
_COLUMNS = 2**10  # columns made at a time at most
_LEFT_OUT = 1000  # jackknife samples at most; of more clusters, several are left out at a time
_DEFINED = 0.9  # share of the resamples that must be defined for an interval

EQUAL = 1e-12
"""Statistics that differ by less are equal: only rounding tells them apart."""


@dataclass(frozen=True, slots=True)
class Resamples:
    """Bootstrap resamples of clusters, drawn with replacement."""

    n_clusters: int
    n: int
    seed: int = 0
    size: int | None = None
    """Clusters per resample; n_clusters if None."""

    def blocks(self) -> Iterator[Floats]:
        """Yield weights of shape (n_clusters, columns), ``n`` columns in all; the same every time."""
        rng = np.random.default_rng(self.seed)
        size = self.n_clusters if self.size is None else self.size
        for columns in _blocks(self.n, max(self.n_clusters, size)):
            drawn = rng.integers(0, self.n_clusters, (columns, size))
            drawn += np.arange(columns)[:, None] * self.n_clusters
            counts = np.bincount(drawn.ravel(), minlength=columns * self.n_clusters)
            yield np.ascontiguousarray(counts.reshape(columns, -1).T, dtype=np.float64)


@dataclass(frozen=True, slots=True)
class Swaps:
    """Random choices of the clusters in which two evaluators are swapped."""

    n_clusters: int
    n: int
    seed: int = 0

    def blocks(self) -> Iterator[Floats]:
        """Yield ones where the clusters are swapped and zeros elsewhere, shape (n_clusters, columns)."""
        rng = np.random.default_rng(self.seed)
        for columns in _blocks(self.n, self.n_clusters):
            chosen = rng.integers(0, 2, (columns, self.n_clusters), dtype=np.int8)
            yield np.ascontiguousarray(chosen.T, dtype=np.float64)


def _blocks(n: int, rows: int) -> Iterator[int]:
    """Yield the sizes of blocks of n columns; they depend only on the number of rows."""
    step = min(_COLUMNS, max(1, _BLOCK // max(1, rows)))
    for at in range(0, n, step):
        yield min(step, n - at)


def left_out(n_clusters: int) -> Iterator[Floats]:
    """Yield the weights of the jackknife, a cluster left out in each column, shape (n_clusters, columns).

    More than 1,000 clusters are left out in 1,000 blocks.
    """
    n = min(n_clusters, _LEFT_OUT)
    block = np.arange(n_clusters) % max(1, n)
    first = 0
    for columns in _blocks(n, n_clusters):
        yield (block[:, None] != np.arange(first, first + columns)).astype(np.float64)
        first += columns


def held_out(n_clusters: int, *, folds: int, repeats: int, seed: int) -> Floats:
    """Return ones for the held-out clusters of each split and zeros elsewhere, shape (n_clusters, splits).

    The clusters are split into folds at random, ``repeats`` times; each fold is held out once.
    """
    rng = np.random.default_rng([seed, 1])
    folds = min(folds, n_clusters)
    fold = np.empty((n_clusters, repeats), dtype=np.int64)
    for column in fold.T:
        column[rng.permutation(n_clusters)] = np.arange(n_clusters) % folds
    return np.asarray(fold[:, :, None] == np.arange(folds), dtype=np.float64).reshape(n_clusters, -1)


def expanded(confidence: float, n_clusters: int) -> float:
    """Return the confidence at which to take percentiles, so that intervals from few clusters cover.

    A bootstrap of n clusters has (n - 1) / n of the right variance, and normal tails instead of Student's.
    Percentiles further out correct for both (Hesterberg 2015, The American Statistician 69, 379). NaN for
    fewer than two clusters.
    """
    from scipy.special import ndtr, stdtrit

    if n_clusters < 2:
        return float("nan")
    t = stdtrit(n_clusters - 1, (1 + confidence) / 2)
    return float(1 - 2 * ndtr(-t * np.sqrt(n_clusters / (n_clusters - 1))))


def level_of(confidence: float, n_clusters: int, *, expand: bool) -> float:
    """Return the confidence of percentiles, `expanded` or as it is; NaN, for no interval, of few clusters."""
    if n_clusters < FEWEST_CLUSTERS:
        return float("nan")
    return expanded(confidence, n_clusters) if expand else confidence


def percentile_interval(replicates: ArrayLike, confidence: float) -> tuple[Floats, Floats]:
    """Return the percentile intervals of bootstrap replicates (Efron 1979), shape (…, resamples).

    NaN where fewer than nine tenths of the resamples are defined.
    """
    values = np.asarray(replicates, dtype=np.float64)
    tail = np.full(values.shape[:-1], (1 - confidence) / 2)
    return _quantiles(values, tail, 1 - tail)


def bca_interval(
    estimate: ArrayLike, replicates: ArrayLike, jackknife: ArrayLike, confidence: float
) -> tuple[Floats, Floats]:
    """Return bias-corrected and accelerated intervals (Efron & Tibshirani 1993, eq. 14.9 to 14.15).

    Estimates have shape (…), replicates (…, resamples), and ``jackknife``, the estimates without each cluster
    in turn (`left_out`), (…, clusters). NaN as for `percentile_interval`, and where all replicates lie on one
    side of the estimate.
    """
    from scipy.special import ndtr, ndtri

    point, values = (
        np.asarray(estimate, dtype=np.float64)[..., None],
        np.asarray(replicates, dtype=np.float64),
    )
    defined = np.maximum(1, (~np.isnan(values)).sum(axis=-1))
    below = (values < point - EQUAL).sum(axis=-1) + (np.abs(values - point) <= EQUAL).sum(axis=-1) / 2
    without = np.asarray(jackknife, dtype=np.float64)
    there = ~np.isnan(without)
    mean = np.where(there, without, 0.0).sum(axis=-1, keepdims=True) / np.maximum(
        1, there.sum(axis=-1, keepdims=True)
    )
    apart = np.where(there, mean - without, 0.0)
    spread = (apart**2).sum(axis=-1) ** 1.5
    acceleration = np.divide((apart**3).sum(axis=-1), 6 * spread, out=np.zeros_like(spread), where=spread > 0)
    tail = (1 - confidence) / 2
    with np.errstate(invalid="ignore", divide="ignore"):
        bias = ndtri(below / defined)
        low, high = (
            ndtr(bias + (bias + z) / (1 - acceleration * (bias + z))) for z in (ndtri(tail), ndtri(1 - tail))
        )
    return _quantiles(values, low, high)


def interval(
    estimate: ArrayLike,
    replicates: ArrayLike,
    jackknife: ArrayLike,
    *,
    n_clusters: int,
    confidence: float = 0.95,
    method: Method = "percentile",
    expand: bool = True,
    bounds: tuple[float, float] = (-1.0, 1.0),
) -> tuple[Floats, Floats]:
    """Return bootstrap intervals, corrected for few clusters; arguments as for `bca_interval`.

    With ``expand`` they are corrected for few clusters: by `expanded`, and by the ratio of jackknife to
    bootstrap standard errors; NaN of few clusters (`level_of`). They stay within ``bounds``, the smallest and
    the largest possible value.
    """
    level = level_of(confidence, n_clusters, expand=expand)
    if method == "bca":
        ends = bca_interval(estimate, replicates, jackknife, level)
    else:
        ends = percentile_interval(replicates, level)
    if expand:
        ends = _stretched(estimate, ends, replicates, jackknife)
    low, high = (np.clip(end, *bounds) for end in ends)
    return low, high


def _stretched(
    estimate: ArrayLike, ends: tuple[Floats, Floats], replicates: ArrayLike, jackknife: ArrayLike
) -> tuple[Floats, Floats]:
    """Widen intervals about the estimate where the jackknife variance is larger than the bootstrap's.

    A resample has fewer distinct clusters than the study. The bootstrap variance of a coefficient that is not
    linear in the clusters is then too small, the more so the more users differ; the jackknife variance is too
    large (Efron & Stein 1981). Means over groups are linear, and do not change.
    """
    n = np.shape(jackknife)[-1]
    of_jackknife = (n - 1) * variance_of_defined(jackknife)
    of_bootstrap = variance_of_defined(replicates) * n / max(1, n - 1)
    ratio = np.divide(of_jackknife, of_bootstrap, out=np.ones_like(of_bootstrap), where=of_bootstrap > 0)
    by = np.sqrt(np.maximum(1.0, ratio))
    point = np.asarray(estimate, dtype=np.float64)
    low, high = (point + (end - point) * by for end in ends)
    return low, high


def variance_of_defined(values: ArrayLike) -> Floats:
    """Return the variance along the last axis without NaN; 0 where all are NaN."""
    given = np.asarray(values, dtype=np.float64)
    there = ~np.isnan(given)
    n = np.maximum(1, there.sum(axis=-1, keepdims=True))
    mean = np.where(there, given, 0.0).sum(axis=-1, keepdims=True) / n
    spread: Floats = (np.where(there, given - mean, 0.0) ** 2).sum(axis=-1) / n[..., 0]
    return spread


def _quantiles(values: Floats, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Return quantiles without NaN, at a level for each row."""
    ordered = np.sort(values, axis=-1)  # NaN comes last
    defined = (~np.isnan(ordered)).sum(axis=-1)
    usable = (defined >= _DEFINED * values.shape[-1]) & (defined > 0)
    found = []
    for level in (low, high):
        known = usable & np.isfinite(level)
        at = np.where(known, level, 0.0) * np.maximum(0, defined - 1)
        below = np.floor(at).astype(np.int64)
        above = np.minimum(below + 1, np.maximum(0, defined - 1))
        one, two = (np.take_along_axis(ordered, i[..., None], axis=-1)[..., 0] for i in (below, above))
        found.append(np.where(known, one + (two - one) * (at - below), np.nan))
    return found[0], found[1]


def permutation_p(observed: ArrayLike, permuted: ArrayLike, *, greater: bool = False) -> Floats:
    """Return p-values of permutation tests, p = (k + 1) / (n + 1) (Davison & Hinkley 1997, eq. 4.11).

    Observed differences have shape (…), p is NaN where they are; permuted ones, (…, permutations), that are
    NaN count as no less extreme. One-sided, if ``greater``: the difference is above zero.
    """
    seen, under = np.asarray(observed, dtype=np.float64), np.asarray(permuted, dtype=np.float64)
    one, other = (seen, under) if greater else (np.abs(seen), np.abs(under))
    extreme = (~(other < one[..., None] - EQUAL)).sum(axis=-1)
    return np.where(np.isnan(seen), np.nan, (extreme + 1) / (under.shape[-1] + 1))


def generator(seed: int, *of: str) -> np.random.Generator:
    """Return a random generator that depends on the seed and on ``of`` alone."""
    import numpy as np

    return np.random.default_rng(int.from_bytes(_digest(seed, *of)[:16], "big"))


def permutation(count: int, seed: int, *of: str) -> list[int]:
    """Return the first ``count`` whole numbers in an order that depends on the seed and on ``of`` alone."""
    return [int(i) for i in generator(seed, *of).permutation(count)]


def drawn(names: Iterable[str], count: int | None, seed: int) -> list[str]:
    """Return the first ``count`` of different names, or all, in an order that the seed gives names."""
    return heapq.nsmallest(count, names, key=lambda name: _digest(seed, name)) if count else sorted(names)


def _digest(seed: int, *of: str) -> bytes:
    return hashlib.sha256("\x1f".join([str(seed), *of]).encode()).digest()


_MOST_THREADS = 8

T = TypeVar("T")
R = TypeVar("R")

_LIMITED = ContextVar("limited", default=False)
_WITHIN = ContextVar("within", default=False)


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Keep numpy's linear algebra to one thread; a context, or the decorator of a function.

    Resampling makes many small matrix products. More threads do not speed them up on an idle machine, and
    slowed them down tenfold on a busy one.
    """
    from threadpoolctl import threadpool_limits

    if _LIMITED.get():  # finding the libraries takes as long as a test of two evaluators
        yield
        return
    token = _LIMITED.set(True)
    try:
        with threadpool_limits(limits=1, user_api="blas"):
            yield
    finally:
        _LIMITED.reset(token)


def in_threads(function: Callable[[T], R], items: Sequence[T]) -> Iterator[R]:
    """Yield what a function returns for each item, in order; several are worked on at a time.

    It is for functions that spend their time in numpy, which lets other threads go on meanwhile. Each result
    is that of the function alone, whatever the number of threads.
    """
    n_threads = min(_MOST_THREADS, os.cpu_count() or 1, len(items))
    with one_thread():
        if n_threads < 2 or _WITHIN.get():  # threads of threads would only be in each other's way
            yield from map(function, items)
            return
        pool = ThreadPoolExecutor(n_threads)
        try:
            inside = copy_context()
            inside.run(_WITHIN.set, True)
            futures = [pool.submit(inside.copy().run, function, item) for item in items]
            for future in futures:
                yield future.result()
        finally:
            pool.shutdown(cancel_futures=True)
