"""A log as that of Yahoo R3: what users like is rated more often, and a random sample says how often."""

import csv
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from metaeval.base.errors import MetaevalError
from metaeval.cli import main
from metaeval.kinds.exposure.data.loading import log_of, save
from metaeval.kinds.exposure.propensity.propensities import propensities_of
from metaeval.kinds.exposure.study import PropensityOptions

ABOUT = {"name": "songs", "outcome": {"min": 1, "max": 5}, "exposure": "pair"}
RATED = np.array([0.02, 0.03, 0.06, 0.15, 0.40])
"""How likely an outcome of 1 to 5 is rated, times how popular the item is."""


def songs(seed=0, users=900, items=200, sampled=540):
    """Return a log, 5,400 outcomes of random items of some of the users, and the mean of all outcomes."""
    draw = np.random.default_rng(seed)
    liked = draw.normal(0, 0.5, items) + draw.normal(0, 0.5, (users, 1)) + draw.normal(0, 1, (users, items))
    outcome = 1 + np.searchsorted([0.3, 0.9, 1.5, 2.1], liked)
    popular = draw.uniform(0.5, 1.5, items)
    user, item = np.nonzero(draw.random((users, items)) < RATED[outcome - 1] * popular)
    random = np.concatenate([draw.choice(items, 10, replace=False) for _ in range(sampled)])
    rows = [(user, item), (np.repeat(np.arange(sampled), 10), random)]
    log, test = (
        pd.DataFrame({"user_id": u.astype(str), "item_id": i.astype(str), "outcome": outcome[u, i]})
        for u, i in rows
    )
    return log_of(ABOUT, {"log": log, "test": test}), float(outcome.mean())


@pytest.fixture(scope="module")
def values(tmp_path_factory):
    """What `metaeval off-policy` says of the log by each source of propensities, and the true mean."""
    data, truth = songs()
    folder, out = (
        save(data, tmp_path_factory.mktemp("songs") / "data"),
        tmp_path_factory.mktemp("out") / "o.csv",
    )
    found = {}
    for source in ("fitted", "naive-bayes"):
        options = ["--policy", "uniform", "--estimators", "naive,ips,snips", "--propensity", source]
        assert main(["off-policy", str(folder), *options, "--refits", "3", "--out", str(out)]) == 0
        found[source] = {row["estimator"]: row for row in csv.DictReader(out.read_text().splitlines())}
    return found, truth


@pytest.mark.slow
def test_fitted_propensities_that_the_random_sample_contradicts_are_refused(values):
    found, truth = values
    for name in ("ips", "snips"):
        row = found["fitted"][name]
        assert (row["refused"], row["value"], row["relative"]) == ("True", "", "")
        assert (
            "random_sample: weighted by fitted propensities, the mean over all users and items is"
            in row["reason"]
        )
        assert row["reason"].endswith("those by naive-bayes use that sample")
        assert float(row["random_sample_low"]) < truth < float(row["random_sample_high"])
    assert float(found["fitted"]["naive"]["value"]) > truth + 0.5


def test_naive_bayes_gives_the_mean_of_all_without_force(values):
    found, truth = values
    for name in ("ips", "snips"):
        row = found["naive-bayes"][name]
        assert (row["refused"], row["propensities"]) == ("False", "naive-bayes")
        assert float(row["value"]) == pytest.approx(truth, abs=0.01)
        assert float(row["ci_low"]) < truth < float(row["ci_high"])
        assert float(row["mean_weight"]) == pytest.approx(1)


def test_a_propensity_is_that_of_its_outcome():
    data, _ = songs(users=60, sampled=60)
    of = propensities_of(data, PropensityOptions(source="naive-bayes"))
    pairs = data.log["user_id"].nunique() * data.log["item_id"].nunique()
    for value in range(1, 6):
        seen, known = (data.log["outcome"] == value), (data.test["outcome"] == value)
        expected = seen.sum() / pairs / known.mean()
        np.testing.assert_allclose(of.probability[seen], expected)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda data: {"test": None}, "need outcomes of random items: a table `test`"),
        (lambda data: {"test": data.test[data.test["outcome"] < 5]}, "has no outcome 5, which the log has"),
        (
            lambda data: {"log": data.log.assign(outcome=np.linspace(1, 5, len(data.log)))},
            "at most 100 different",
        ),
    ],
)
def test_what_naive_bayes_cannot_do_is_said(change, says):
    data, _ = songs(users=60, sampled=60)
    with pytest.raises(MetaevalError, match=says):
        propensities_of(replace(data, **change(data)), PropensityOptions(source="naive-bayes"))
