"""Done-criterion: every estimator equals a second implementation, on the same arrays, to twelve digits."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metaeval.stats.off_policy.estimators import (
    ESTIMATORS,
    GRID,
    PLAIN,
    Estimator,
    Rounds,
    Weighting,
    policy_sums,
    standard_error,
)
from tests.examples import examples
from tests.stats.off_policy import naive

SWEEP = [("none", None), ("clip", 1.5), ("clip", 20.0), ("trim", 2.0), ("trim", 0.7)]


def arrays(seed, n=60, clusters=9):
    rng = np.random.default_rng(seed)
    y = rng.choice([0.0, 1.0, 3.5, -2.0], n)
    p, pi = rng.uniform(0.01, 1, n), rng.uniform(0, 1, n) * (rng.random(n) > 0.1)
    q, v = rng.normal(size=(2, n))
    cluster = rng.permutation(np.arange(n) % clusters)
    return (y, p, pi, q, v), cluster


def estimates(columns, cluster, estimators, parts=3):
    y, p, pi, q, v = columns
    cuts = np.array_split(np.arange(len(y)), parts)
    read = ((Rounds(y[c], pi[c] / p[c], q[c], v[c]), cluster[c]) for c in cuts)
    return policy_sums(read, int(cluster.max()) + 1, estimators)


def values(sums):
    return sums.statistic.at(np.ones((sums.n_clusters, 1)))[: len(sums.estimators), 0]


@settings(max_examples=examples(50), deadline=None)
@given(st.integers(0, 2**31))
def test_every_estimator_equals_the_loop_over_rounds(seed):
    columns, cluster = arrays(seed)
    log = list(zip(*(c.tolist() for c in columns), strict=True))
    expected = {Estimator("naive"): naive.naive(log), Estimator("direct"): naive.direct(log)}
    for change, at in SWEEP:
        weighting = PLAIN if change == "none" else Weighting(change, at)
        for name in ("ips", "snips", "dr", "sndr"):
            expected[Estimator(name, weighting)] = getattr(naive, name)(log, change, at)
    expected[Estimator("switch-dr", Weighting("trim", 2.0))] = naive.dr(log, "trim", 2.0)
    expected[Estimator("dros", Weighting("shrink", 9.0))] = naive.dr(log, "shrink", 9.0)
    sums = estimates(columns, cluster, list(expected))
    np.testing.assert_allclose(values(sums), list(expected.values()), rtol=1e-12, atol=1e-12)
    for weighting, totals in sums.weights.items():
        size = naive.effective_size(log, weighting.change, weighting.at)
        assert totals.effective == pytest.approx(size, rel=1e-12)


@settings(max_examples=examples(25), deadline=None)
@given(st.integers(0, 2**31))
def test_numbers_that_the_data_choose_are_those_of_least_estimated_error(seed):
    columns, cluster = arrays(seed)
    log = list(zip(*(c.tolist() for c in columns), strict=True))
    found = estimates(columns, cluster, [Estimator("switch-dr"), Estimator("dros")]).estimators
    clusters = cluster.tolist()
    assert found[0].weighting.at == naive.chosen(log, clusters, GRID, "trim")
    assert found[1].weighting.at == naive.chosen(log, clusters, [g**2 for g in GRID], "shrink")


@settings(max_examples=examples(25), deadline=None)
@given(st.integers(0, 2**31), st.integers(1, 8))
def test_the_parts_in_which_a_log_is_read_do_not_matter(seed, parts):
    columns, cluster = arrays(seed)
    every = [Estimator(name) for name in ESTIMATORS]
    one, several = (estimates(columns, cluster, every, n) for n in (1, parts))
    np.testing.assert_allclose(one.statistic.by_cluster, several.statistic.by_cluster, atol=1e-9)
    assert one.weights[PLAIN].total == pytest.approx(several.weights[PLAIN].total)
    assert one.weights[PLAIN].largest == several.weights[PLAIN].largest


def test_rounds_that_count_less_are_those_of_busy_users():
    """Of pairs, a policy that serves users alike: the sum over users of r / p, by users and items."""
    rng = np.random.default_rng(4)
    user, p = np.repeat(np.arange(5), [2, 9, 4, 7, 3]), rng.uniform(0.05, 1, 25)
    y, items, per_user = rng.normal(size=25), 30, 5.0
    rounds = Rounds(y, (1 / items) / (p / per_user), count=per_user / np.bincount(user)[user])
    sums = policy_sums([(rounds, user)], 5, [Estimator("ips")])
    assert values(sums)[0] == pytest.approx((y / p).sum() / (5 * items))
    np.testing.assert_allclose(sums.statistic.by_cluster[1, -1], [5.0] * 5)


def test_clusters_that_are_put_together_give_the_same_values_and_errors():
    rng = np.random.default_rng(3)
    n = 100_000
    rounds = Rounds(rng.normal(size=n), rng.gamma(1.0, size=n))
    every = [Estimator("ips"), Estimator("snips")]
    sums = policy_sums([(rounds, np.arange(n))], n, every)
    assert sums.n_clusters == 16_384
    np.testing.assert_allclose(values(sums)[0], (rounds.weight * rounds.outcome).mean())
    single = standard_error((rounds.weight * rounds.outcome)[None], np.ones((1, n)))
    assert standard_error(*sums.statistic.by_cluster[:, 1:])[0] == pytest.approx(single[0], rel=0.03)


def test_models_are_needed_where_an_estimator_uses_one():
    rounds = Rounds(np.ones(3), np.ones(3))
    with pytest.raises(ValueError, match="dr needs predicted and expected outcomes"):
        rounds.terms(Estimator("dr"))
    with pytest.raises(ValueError, match="predicted outcomes"):
        rounds.bias(PLAIN)


@settings(max_examples=examples(25), deadline=None)
@given(st.integers(0, 2**31))
def test_numbers_are_chosen_anew_in_a_resample_as_if_it_were_a_log(seed):
    columns, cluster = arrays(seed)
    times = np.random.default_rng(seed).multinomial(9, np.full(9, 1 / 9))
    names = [Estimator("dr"), Estimator("switch-dr"), Estimator("dros")]
    found = estimates(columns, cluster, names).statistic.at(times[:, None].astype(float))[:3, 0]
    drawn = [np.flatnonzero(cluster == c) for c in np.repeat(np.arange(9), times)]
    rows, again = np.concatenate(drawn), np.repeat(np.arange(9), [len(d) for d in drawn])
    resampled = estimates(tuple(c[rows] for c in columns), again, names)
    np.testing.assert_allclose(found, values(resampled), rtol=1e-9)
