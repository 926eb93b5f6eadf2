"""Recall and nDCG of recommenders: against loops over the formulas, and against a truth that is known."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data.make_exposure import simulate
from metaeval.kinds.exposure.data.loading import log_of
from metaeval.kinds.exposure.propensity.propensities import propensities_of
from metaeval.kinds.exposure.recommenders.sums import Recommended
from metaeval.kinds.exposure.study import PropensityOptions, RecommenderOptions
from metaeval.stats.off_policy.estimators import Estimator, Weighting
from tests.examples import examples

ABOUT = {"name": "lists", "outcome": {"min": 0, "max": 1}, "exposure": "pair"}
MEASURES = ("Recall", "nDCG")


def recommended(data, **options):
    found = propensities_of(data, PropensityOptions(source="logged"))
    return Recommended.of(data, found, RecommenderOptions(**options), floor=1e-6)


def values(of, measure, name, weighting=None):
    estimator = Estimator(name, weighting) if weighting else Estimator(name)
    return of.statistic(measure, estimator).at(np.ones((len(of.users), 1)))[:, 0]


@pytest.fixture(scope="module")
def simulated():
    return simulate(users=20, items=40, seed=4)


@pytest.mark.parametrize("weighting", [None, Weighting("clip", 20.0), Weighting("trim", 20.0)])
@pytest.mark.parametrize("name", ["naive", "ips", "snips", "dr"])
@pytest.mark.parametrize("measure", MEASURES)
def test_values_are_those_of_loops_over_the_formulas(simulated, measure, name, weighting):
    if name == "naive" and weighting:
        return
    k, data = 10, simulated.data
    of = recommended(data, k=k)
    users, items = list(of.log.users), list(of.log.items)

    def q(user, item):
        return float(of.predicted(np.array([users.index(user) * len(items) + items.index(item)]))[0])

    log = data.log.astype({"user_id": "str", "item_id": "str"})
    catalogue = {user: [q(user, item) for item in items] for user in users} if name == "dr" else {}
    for s, system in enumerate(of.systems):
        runs = data.runs[(data.runs["system"] == system) & (data.runs["rank"] <= k)]
        rank = {(r.user_id, r.item_id): r.rank for r in runs.itertuples()}
        gain = {key: 1 / np.log2(r + 1) if measure == "nDCG" else 1.0 for key, r in rank.items()}
        hits = likes = weighted = weight = 0.0
        for row in log.itertuples():
            key, y = (row.user_id, row.item_id), float(row.outcome >= 1)
            w = 1.0 if name == "naive" else 1 / row.propensity
            if weighting:
                w = min(w, 20.0) if weighting.change == "clip" else w * (w <= 20.0)
            left = y - q(*key) if name == "dr" else y
            hits += w * gain.get(key, 0.0) * left
            likes += w * left
            weighted += w * gain.get(key, 0.0)
            weight += w
        if name == "dr":
            hits += sum(g * q(*key) for key, g in gain.items())
            likes += sum(map(sum, catalogue.values()))
        if name == "snips":
            hits *= sum(gain.values()) / weighted
            likes *= len(users) * len(items) / weight
        expected = hits / likes
        if measure == "nDCG":
            m = min(k, likes / len(users))
            whole = sum(1 / np.log2(r + 1) for r in range(1, int(m) + 1))
            expected = (hits / len(users)) / (whole + (m - int(m)) / np.log2(int(m) + 2))
        assert values(of, measure, name, weighting)[s] == pytest.approx(expected, rel=1e-10)


def truth(of, measure, k):
    """Return the measure of each system if every user had been shown every item, in expectation."""
    gain = 1 / np.log2(np.arange(k) + 2) if measure == "nDCG" else np.ones(k)
    ideal = gain.sum() if measure == "nDCG" else of.liking.sum(axis=1).mean()
    return {
        system: (np.take_along_axis(of.liking, lists[:, :k], 1) * gain).sum(axis=1).mean() / ideal
        for system, lists in of.runs.items()
    }


@pytest.mark.parametrize("measure", MEASURES)
def test_weighting_finds_the_truth_that_the_log_alone_misses(measure):
    simulation = simulate(users=600, seed=1, length=20)
    of = recommended(simulation.data)
    true = np.array([truth(simulation, measure, 20)[s] for s in of.systems])
    for name in ("ips", "snips", "dr"):
        assert np.abs(values(of, measure, name) / true - 1).max() < 0.15
    popular = of.systems.index("popular")
    assert values(of, "Recall", "naive")[popular] > 2 * truth(simulation, "Recall", 20)["popular"]


def shop(log, runs):
    columns = ["user_id", "item_id", "outcome", "propensity", "timestamp"]
    runs = pd.DataFrame(runs, columns=["system", "user_id", "item_id", "rank"])
    return log_of(ABOUT, {"log": pd.DataFrame(log, columns=columns), "runs": runs})


def test_an_item_of_the_training_part_is_no_hit_and_keeps_its_place():
    # Ann liked a and b early, c and (again) a late; the later half is held out. Only c can be found.
    ann = [("ann", i, 1, 0.5, t) for t, i in enumerate(["a", "b", "c", "a"])]
    others = [(u, i, 1, 0.5, t) for u in ("bob", "cat") for t, i in enumerate(["d", "c"])]
    lists = [("seen", "ann", "a", 1), ("seen", "ann", "b", 2), ("seen", "ann", "c", 3)]
    lists += [("new", "ann", "c", 1), ("new", "ann", "zzz", 2)]
    data = shop([*ann, *others], lists)
    of = recommended(data, k=3, held_out=0.5)
    assert values(of, "Recall", "naive").tolist() == [1.0, 1.0]
    # Of `seen`, nothing is left among the first two that could be a hit: it cannot be measured.
    assert recommended(data, k=2, held_out=0.5).systems == ("new",)
    # Users without any list do not count.
    assert len(of.users) == 1


def test_what_is_held_out_does_not_depend_on_the_order_of_rows(simulated):
    data = simulated.data
    log = data.log.drop(columns="timestamp")
    tables = {"log": log, "items": data.items, "runs": data.runs}
    found = [
        values(recommended(log_of(ABOUT, tables | {"log": one}), held_out=0.4), "Recall", "dr")
        for one in (log, log.sample(frac=1, random_state=3).reset_index(drop=True))
    ]
    assert found[0] == pytest.approx(found[1], rel=1e-9)
    assert not np.allclose(found[0], values(recommended(log_of(ABOUT, tables)), "Recall", "dr"))


@settings(max_examples=examples(25), deadline=None)
@given(st.integers(0, 10**6), st.floats(0.1, 0.9))
def test_with_one_propensity_for_all_weights_change_no_recall(seed, p):
    draw = np.random.default_rng(seed)
    pairs = [(u, i) for u in range(5) for i in range(8) if i == u or draw.random() < 0.6]
    log = [(f"u{u}", f"i{i}", int(draw.random() < 0.5), p, 0.0) for u, i in pairs]
    log[0] = (*log[0][:2], 1, *log[0][3:])
    lists = [("s", f"u{u}", f"i{i}", r + 1) for u in range(5) for r, i in enumerate(draw.permutation(8)[:3])]
    of = recommended(shop(log, lists), k=3)
    naive, ips = values(of, "Recall", "naive"), values(of, "Recall", "ips")
    assert ips == pytest.approx(naive, rel=1e-9, nan_ok=True)
    assert 0 <= ips[0] <= 1
