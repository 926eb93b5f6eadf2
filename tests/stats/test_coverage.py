"""Done-criterion of all intervals and tests: they are right as often as they say, on simulated studies.

A user rates and an evaluator scores with a level of their own, so that units of a user are not independent.
What is estimated is known: by a formula, or from a study of so many users that it is not uncertain any more.
`benchmarks/coverage.py` does the same with more studies, sizes and evaluators.
"""

from functools import cache
from typing import NamedTuple

import numpy as np
import pytest
import scipy.stats

from metaeval.stats.coefficients.levels import Grouping, estimate
from metaeval.stats.resampling.paired import AspectScores, paired_permutation
from metaeval.stats.resampling.rank_ranges import contributions, rank_ranges
from metaeval.stats.resampling.weights import Resamples, Swaps, interval, left_out, one_thread
from metaeval.stats.weighted.statistic import statistic
from metaeval.stats.weighted.sums import Clusters
from tests.stats import naive

pytestmark = pytest.mark.slow

ITEMS, GENERATORS = 3, 8
LEVELS = ("dataset", "user", "pair")
OWN, SLOPE = 0.5, 0.5  # standard deviation of the users' levels; of the signal that a score is made of


class Study(NamedTuple):
    x: np.ndarray
    y: np.ndarray
    user: np.ndarray
    groupings: dict


def study(rng, users, *, likert, evaluators=1, level=OWN):
    """Return scores (evaluators, n) and truth of a study; evaluators differ in their noise."""
    n = users * ITEMS * GENERATORS
    user = np.repeat(np.arange(users), ITEMS * GENERATORS)
    pair = np.repeat(np.arange(users * ITEMS), GENERATORS)
    signal = rng.normal(size=n)
    y = level * rng.normal(size=users)[user] + signal + rng.normal(size=n)
    own = level * rng.normal(size=(evaluators, users))[:, user]
    x = own + SLOPE * signal + rng.normal(size=(evaluators, n))
    if likert:
        x, y = (np.clip(np.rint(3 + v), 1, 5) for v in (x, y))
    groupings = {
        "dataset": Grouping(np.zeros(n, dtype=np.int64), 1),
        "user": Grouping(user, users),
        "pair": Grouping(pair, users * ITEMS),
    }
    return Study(x, y, user, groupings)


@cache
def population(likert):
    """Return what intervals should cover, by level and coefficient: the estimates from 30,000 users."""
    s = study(np.random.default_rng(12345), 30_000, likert=likert)
    found = estimate(s.x, s.y[None], s.groupings, naive.COEFFICIENTS)
    return {key: value.estimate[0] for key, value in found.items()}


def formula(level):
    """Pearson's r over all units of a population, whose users have levels of this standard deviation."""
    return SLOPE / np.sqrt((level**2 + SLOPE**2 + 1) * (level**2 + 2))


def test_the_population_is_as_the_formula_says():
    assert population(likert=False)["dataset", "pearson"] == pytest.approx(formula(OWN), abs=0.004)


@one_thread()
def covered(seed, studies, users, levels, coefficients, *, likert, resamples=1000, cluster="user", level=OWN):
    """Return how often 95 % intervals hold the truth: method → shape (levels, coefficients)."""
    rng = np.random.default_rng(seed)
    truth = [[population(likert)[name, c] for c in coefficients] for name in levels]
    if level != OWN:
        truth = [[formula(level)]]
    hits = {"percentile": 0, "bca": 0}
    for i in range(studies):
        s = study(rng, users, likert=likert, level=level)
        n = users if cluster == "user" else len(s.user)
        by = Clusters(s.user if cluster == "user" else np.arange(n), n)
        weights = list(Resamples(n, resamples, seed=i).blocks())
        of_levels = [statistic(s.x[0], s.y, s.groupings[name], by, coefficients) for name in levels]
        replicates = np.stack([np.concatenate([f.at(w) for w in weights], axis=1) for f in of_levels])
        points = np.stack([f.at(np.ones((n, 1)))[:, 0] for f in of_levels])
        jackknife = np.stack([f.at(np.concatenate(list(left_out(n)), axis=1)) for f in of_levels])
        for method in hits:
            low, high = interval(points, replicates, jackknife, n_clusters=n, method=method)
            hits[method] += (low <= truth) & (truth <= high)
    return {method: count / studies for method, count in hits.items()}


@pytest.mark.parametrize("users", [40, 100])
def test_intervals_of_ratings_cover(users):
    """All levels and coefficients; 800 studies: a coverage of 95 % is seen to 0.8 points."""
    found = covered(users, 800, users, LEVELS, naive.COEFFICIENTS, likert=True)
    for method, share in found.items():
        assert (share >= 0.93).all(), (method, share)
        assert (share <= 0.97).all(), (method, share)


def test_intervals_of_continuous_scores_cover():
    for levels, coefficients in ((LEVELS, ("pearson",)), (("user",), ("spearman", "kendall"))):
        for method, share in covered(7, 800, 100, levels, coefficients, likert=False).items():
            assert (share >= 0.93).all(), (method, share)
            assert (share <= 0.97).all(), (method, share)


@pytest.mark.parametrize("users", [20, 40])
def test_intervals_cover_where_users_differ_as_much_as_units(users):
    """The hardest case: few users, whose levels vary as much as the signal does."""
    share = covered(users, 1500, users, ("dataset",), ("pearson",), likert=False, level=1.0)
    assert 0.93 <= share["percentile"].item() <= 0.97


@pytest.mark.parametrize(
    ("level", "coefficient", "likert"),
    [
        ("dataset", "pearson", False),
        ("user", "pearson", False),
        ("pair", "pearson", True),
        ("user", "kendall", True),
    ],
)
def test_evaluators_that_do_not_differ_are_told_apart_as_often_as_alpha_says(level, coefficient, likert):
    """Two evaluators see the same signal, with noise of their own: swapped by user."""
    studies, permutations, users = 1200, 199, 40
    rng = np.random.default_rng(17)
    p, greater = np.empty((2, studies))
    for i in range(studies):
        s = study(rng, users, likert=likert, evaluators=2)
        both = [AspectScores(x, s.y, s.groupings[level], Clusters(s.user, users)) for x in s.x]
        found = paired_permutation([both], coefficient, Swaps(users, permutations, seed=i))
        p[i], greater[i] = found.p[0, 1], found.p_greater[0, 1]
    for values in (p, greater):
        assert 0.0375 <= (values <= 0.05).mean() <= 0.0625
        # p is one of 200 values; between them lies what makes it uniform on 0 … 1.
        spread = values - rng.random(studies) / (permutations + 1)
        assert scipy.stats.kstest(spread, "uniform").pvalue > 0.01
        assert scipy.stats.chisquare(np.histogram(spread, 20, (0, 1))[0]).pvalue > 0.01


@pytest.mark.parametrize("users", [6, 20])
def test_ranks_of_equal_evaluators_hold(users):
    """All are equally good, so that whatever is shown is false; of 400 studies, 5 % err by 1.1 points."""
    studies, names = 400, 8
    rng, in_set, holds = np.random.default_rng(users), 0.0, 0.0
    group = Grouping(np.zeros(users * ITEMS * GENERATORS, dtype=np.int64), 1)
    for seed in range(studies):
        s = study(rng, users, likert=True, evaluators=names)
        of = [statistic(x, s.y, group, Clusters(s.user, users), ["pearson"]) for x in s.x]
        theta = np.array([one.at(np.ones((users, 1)))[0, 0] for one in of])
        contributed = np.concatenate([contributions(one, users) for one in of])
        found = rank_ranges(theta, contributed, draws=999, seed=seed)
        in_set += (found.p_best > 0.05).mean() / studies
        holds += ((found.low == 1) & (found.high == names)).mean() / studies
    assert in_set > 0.92
    assert holds > 0.92
    assert min(in_set, holds) < 1
