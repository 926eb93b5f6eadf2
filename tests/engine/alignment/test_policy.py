"""Aligned arrays as a policy leaves them, and what their units may be resampled by."""

import numpy as np
import pandas as pd
import pytest

from metaeval.base.errors import DataError, MetaevalError
from metaeval.engine.alignment.policy import Policy
from metaeval.engine.alignment.prepared import prepare

LEVELS, COEFFICIENTS = ("dataset", "generator"), ("pearson",)


def frames():
    unit = pd.DataFrame(
        {
            "user_id": ["b", "b", "a", "a", "c", "c"],
            "item_id": [1, 2, 1, 2, 3, 3],
            "generator": ["x", "y", "x", "y", "x", "y"],
        }
    )
    truth = unit.assign(aspect="fit", rating=[1, 2, np.nan, 4, 5, 1.0])
    score = [3, np.nan, 1, 2, 5, 4.0]
    scores = pd.concat([unit.assign(evaluator="one", score=score), unit.assign(evaluator="two", score=2.0)])
    return scores, truth


def prepared(missing=None, units="common", **drop):
    policy = Policy.of(LEVELS, COEFFICIENTS, missing, "skip", units)
    return prepare(*(f.drop(columns=list(drop)) for f in frames()), policy)


def test_clusters_are_numbered_by_name_whatever_the_order_of_rows():
    truth = frames()[1]
    for rows in (truth, truth[::-1]):
        data = prepare(
            frames()[0], rows, Policy.of(LEVELS, COEFFICIENTS, {"truth": 3, "score": 0}, "skip", "own")
        )
        for name, column in (("user", "user_id"), ("item", "item_id"), ("generator", "generator")):
            clusters = data.clusters(name)
            assert clusters.n == truth[column].nunique()
            names = sorted(truth[column].unique())
            labels = data.labels[column][data.keys[column]]
            assert [names[c] for c in clusters.of_unit] == list(labels)
        units = data.clusters("unit")
        assert (units.n, sorted(units.of_unit)) == (6, list(range(6)))
        first = [
            data.labels[k][data.keys[k][units.of_unit == 0]][0] for k in ("user_id", "item_id", "generator")
        ]
        assert first == ["a", 1, "x"]


def test_clusters_of_which_nothing_enters_are_none():
    data = prepared()  # two units of six have no rating, or no score of one evaluator
    entering = np.ones(6, dtype=bool)
    entering[:] = data.units(0, 0)
    for name, n in (("unit", 4), ("user", 3), ("item", 3), ("generator", 2)):
        clusters = data.clusters(name)
        assert clusters.n == n
        assert sorted(set(clusters.of_unit[entering].tolist())) == list(range(n))


def test_users_are_resampled_or_items_where_there_are_none():
    assert prepared().cluster_name(None) == "user"
    assert prepared().cluster_name("unit") == "unit"
    truth = frames()[1].drop(columns="user_id").drop_duplicates(["item_id", "generator"])
    scores = frames()[0].drop(columns="user_id").drop_duplicates(["item_id", "generator", "evaluator"])
    data = prepare(scores, truth, Policy.of(LEVELS, COEFFICIENTS, None, "skip", "common"))
    assert data.cluster_name(None) == "item"
    with pytest.raises(
        DataError, match="the data name no user to resample by; resample by item, generator or unit"
    ):
        data.clusters("user")


@pytest.mark.parametrize(
    ("missing", "units", "one", "two"),
    [
        (None, "common", 4, 4),
        (None, "own", 4, 5),
        ({"truth": 3}, "own", 5, 6),
        ({"score": 0}, "own", 5, 5),
        ({"truth": 3, "score": 0}, "common", 6, 6),
    ],
)
def test_what_is_missing_is_filled_or_left_out(missing, units, one, two):
    data = prepared(missing, units)
    entered = [np.ones(6, dtype=bool)[data.units(e, 0)].sum() for e in (0, 1)]
    assert entered == [one, two]
    assert np.isfinite(data.scores).all()
    assert np.isfinite(data.truth).all()
    # A score counts as missing where the unit is judged; its rating is not where it was filled.
    assert data.n_missing.ravel().tolist() == [1, 0]
    assert data.truth_missing.tolist() == [1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((LEVELS, ["r"], None, "skip", "own"), "coefficients: 'r' is not allowed"),
        ((LEVELS, COEFFICIENTS, None, "drop", "own"), r"undefined_groups: 'drop' is not allowed"),
        (
            (LEVELS, COEFFICIENTS, None, "skip", "all"),
            r"units: 'all' is not allowed \(allowed: common, own\)",
        ),
        ((LEVELS, COEFFICIENTS, 3, "skip", "own"), "missing must be a mapping"),
        ((LEVELS, COEFFICIENTS, {"rating": 3}, "skip", "own"), "missing: 'rating' is not allowed"),
        (
            (LEVELS, COEFFICIENTS, {"truth": "mean"}, "skip", "own"),
            "give a finite number to fill in, or 'drop'",
        ),
        ((LEVELS, COEFFICIENTS, {"truth": np.inf}, "skip", "own"), "give a finite number"),
        (("dataset", COEFFICIENTS, None, "skip", "own"), "levels must be a list of one or more"),
        (([], COEFFICIENTS, None, "skip", "own"), "levels must be a list of one or more"),
        ((["user", "user"], COEFFICIENTS, None, "skip", "own"), "names one twice"),
    ],
)
def test_arguments_are_checked(arguments, message):
    with pytest.raises(MetaevalError, match=message):
        Policy.of(*arguments)
