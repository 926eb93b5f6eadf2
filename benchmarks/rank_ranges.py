"""Coverage of rank ranges, of the set of those that may be the best, and of intervals of differences.

Users rate on a scale of five points, with levels and tastes of their own. Evaluators come in families that
share part of their noise; every two are equally good, so that some differences are zero.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import stdtrit

from benchmarks.shares import row
from metaeval.stats.resampling.cluster_sums import ClusterSums
from metaeval.stats.resampling.rank_ranges import contributions, ranges_of, rank_ranges
from metaeval.stats.resampling.significance import holm
from metaeval.stats.resampling.weights import one_thread

if TYPE_CHECKING:
    from collections.abc import Iterator

    from metaeval.stats.coefficients.tables import Floats

DRAWS = 2_000
POPULATION, PARTS = 40_000, 40
HOLDS = (0.94, 1.0)


@dataclass(frozen=True, slots=True)
class Design:
    """What a simulated study is like."""

    name: str
    slopes: Floats
    """How much of the signal each evaluator sees, shape (k,); equal ones are equally good."""
    units: int
    """Of a user."""
    taste: float
    """How much users differ in what an evaluator sees of their ratings."""
    discrete: bool
    """Whether evaluators give whole numbers, too."""

    def scores(self, rng: np.random.Generator, users: int) -> tuple[Floats, Floats]:
        """Return scores, shape (k, users, units), and ratings, (users, units)."""
        k, shape = len(self.slopes), (users, self.units)
        signal = rng.normal(size=shape)
        y = np.clip(
            np.rint(3 + 0.6 * rng.normal(size=(users, 1)) + 0.6 * signal + 0.8 * rng.normal(size=shape)), 1, 5
        )
        family = rng.normal(size=(-(-k // 4), *shape))[np.arange(k) // 4]
        slope = self.slopes[:, None] + self.taste * rng.standard_t(5, size=(k, users))
        x = slope[..., None] * signal + 0.7 * family + 0.7 * rng.normal(size=(k, *shape))
        return np.clip(np.rint(3 + x), 1, 5) if self.discrete else x, y


def recexp(k: int) -> Design:
    """Correlations of 0 to .2; users differ much."""
    return Design("like recexp", _slopes(0.45, k), 65, 0.15, discrete=False)


def hanna(k: int) -> Design:
    """Correlations of 0 to .35, of whole numbers."""
    return Design("like HANNA", _slopes(0.9, k), 10, 0.15, discrete=True)


def equal(k: int) -> Design:
    """All are equally good: whatever is shown is false."""
    return Design("equal", np.full(k, 0.3), 30, 0.2, discrete=False)


def _slopes(most: float, k: int) -> Floats:
    return np.repeat(np.linspace(0, most, -(-k // 2)), 2)[:k]


def correlations(x: Floats, y: Floats) -> ClusterSums:
    """Return Pearson's r of all evaluators over all units, as a function of the users' weights."""
    y = y - 3
    x = x - x.mean(axis=(1, 2), keepdims=True)
    one = np.ones_like(y).sum(axis=1)
    of_y = np.broadcast_to(np.stack([one, y.sum(axis=1), (y * y).sum(axis=1)])[:, None], (3, *x.shape[:2]))
    of_x = np.stack([x.sum(axis=2), (x * x).sum(axis=2), (x * y).sum(axis=2)])

    def r(sums: Floats) -> Floats:
        n, y, yy, x, xx, xy = sums
        return np.asarray((xy - x * y / n) / np.sqrt((xx - x * x / n) * (yy - y * y / n)))

    return ClusterSums(np.concatenate([of_y, of_x]), r)


def truth(design: Design) -> Floats:
    """Return the correlations of very many users; those of equal slopes are equal."""
    rng = np.random.default_rng(7)
    parts = []
    for _ in range(PARTS):
        x, y = design.scores(rng, POPULATION // PARTS)
        parts.append(correlations(x, y).sums(np.ones((POPULATION // PARTS, 1))))
    found = correlations(x, y).of_sums(np.sum(parts, axis=0))[:, 0]
    for slope in np.unique(design.slopes):
        found[design.slopes == slope] = found[design.slopes == slope].mean()
    return np.asarray(found)


@one_thread()
def ranked(studies: int, users: int, design: Design) -> Iterator[dict[str, Any]]:
    """Yield how often the set of the best and the ranges hold, and intervals of differences cover."""
    rng, k = np.random.default_rng([users, len(design.slopes)]), len(design.slopes)
    true = truth(design)
    low, high = ranges_of(true[:, None] > true)
    upper = np.triu_indices(k, 1)
    hits, sizes, n_all = np.zeros(4), np.zeros(3), 0
    for i in range(studies):
        statistic = correlations(*design.scores(rng, users))
        theta = statistic.at(np.ones((users, 1)))[:, 0]
        p_holm = _by_t(theta, statistic, users)
        found = rank_ranges(theta, contributions(statistic, users), p_holm, draws=DRAWS, seed=i)
        in_set = found.p_best > 0.05
        holds, holds_all = (
            (a <= low) & (high <= b) for a, b in ((found.low, found.high), (found.low_all, found.high_all))
        )
        off = np.abs((theta[:, None] - theta) - (true[:, None] - true))
        covered = (off <= stdtrit(users - 1, 0.975) * found.error)[upper]
        hits += [in_set[true == true.max()].mean(), holds.mean(), holds_all.all(), covered.mean()]
        n_all += not np.isnan(found.low_all).any()
        not_worse = (p_holm[theta.argmax()] > 0.05).sum()
        sizes += [in_set.sum(), not_worse, (found.high - found.low + 1).mean()]
    what = f"ranks, {k} evaluators {design.name}, {users} users"
    best, each, at_once, intervals = (hits / studies).tolist()
    shares = {"best_in_set": best, "rank_range": each}
    more = zip(("size", "size_by_holm", "width"), (sizes / studies).round(1).tolist(), strict=True)
    yield row(what, studies, shares, HOLDS, **dict(more))
    if n_all == studies:
        yield row(
            f"ranks at once, {k} evaluators {design.name}, {users} users",
            studies,
            {"all_ranges": at_once},
            HOLDS,
        )
    yield row(
        f"differences, {k} evaluators {design.name}, {users} users",
        studies,
        {"interval": intervals},
        (0.93, 0.97),
    )


def _by_t(theta: Floats, statistic: ClusterSums, users: int) -> Floats:
    """Return Holm's p-values of Student's t, in place of permutations, which take long."""
    from scipy.special import stdtr

    psi = contributions(statistic, users)
    error = np.stack([(psi - one).std(axis=1, ddof=1) for one in psi]) / np.sqrt(users)
    found = np.ones((len(theta), len(theta)))
    i, j = np.triu_indices(len(theta), 1)
    found[i, j] = found[j, i] = holm(2 * stdtr(users - 1, -np.abs(theta[i] - theta[j]) / error[i, j]))
    return found


def run(studies: int, *, quick: bool = False) -> Iterator[dict[str, Any]]:
    """Yield one result after the other."""
    if quick:
        yield from ranked(studies, 20, recexp(11))
        return
    for users in (6, 10, 20, 40, 100):
        for design in (recexp(5), recexp(11), hanna(20), equal(11)):
            yield from ranked(studies, users, design)
    for users in (20, 40):
        yield from ranked(max(1, studies // 4), users, hanna(92))
