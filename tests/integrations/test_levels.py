from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from metaeval.base.errors import MetaevalError
from metaeval.integrations.levels import level_correlations

X = [1.0, 2.0, 3.0, 4.0, 2.0, 2.0, 5.0, 1.0]
Y = [1, 3, 2, 5, 4, 4, 5, 2]
USERS = [7, 7, 7, 7, 8, 8, 9, 9]


def test_numbers_are_those_of_scipy():
    found = level_correlations(X, Y, users=USERS)
    assert found["pearson_dataset"] == pytest.approx(stats.pearsonr(X, Y)[0])
    assert found["kendall_dataset"] == pytest.approx(stats.kendalltau(X, Y)[0])
    of_users = [stats.spearmanr(X[:4], Y[:4])[0], stats.spearmanr(X[6:], Y[6:])[0]]
    assert found["spearman_user"] == pytest.approx(np.mean(of_users))
    assert (found["n_groups_user"], found["n_undefined_user"], found["n_units"]) == (3, 1, 8)
    assert "pearson_pair" not in found


def test_groups_that_are_undefined_may_count_as_zero():
    skipped, zero = (
        level_correlations(X, Y, users=USERS, levels=["user"], coefficients=["pearson"], undefined_groups=how)
        for how in ("skip", "zero")
    )
    assert zero["pearson_user"] == pytest.approx(skipped["pearson_user"] * 2 / 3)
    assert set(zero) == {"pearson_user", "n_groups_user", "n_undefined_user", "n_units", "n_missing"}


@pytest.mark.parametrize(
    ("ids", "levels"),
    [
        ({}, {"dataset"}),
        ({"users": USERS}, {"dataset", "user"}),
        ({"items": USERS}, {"dataset", "item"}),
        ({"users": USERS, "items": list("aabbccdd")}, {"dataset", "user", "pair"}),
    ],
)
def test_levels_are_those_that_the_ids_allow(ids, levels):
    found = level_correlations(X, Y, **ids)
    assert {name.removeprefix("n_groups_") for name in found if name.startswith("n_groups_")} == levels


def test_a_missing_score_or_rating_leaves_its_unit_out():
    whole = level_correlations(X[:5], Y[:5])
    holes = level_correlations([*X[:5], None, 1.0], [*Y[:5], 3, math.nan])
    assert {**holes, "n_missing": 0} == whole
    assert holes["n_missing"] == 1


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"levels": ["pair"], "users": USERS}, "level 'pair' needs items, one per unit"),
        ({"levels": ["generator"]}, "levels: 'generator' is not allowed"),
        ({"levels": ["usr"]}, "did you mean 'user'"),
        ({"levels": "dataset"}, "levels must be a list of one or more of dataset, user"),
        ({"coefficients": ["pearsn"]}, "did you mean 'pearson'"),
        ({"undefined_groups": "drop"}, "undefined_groups"),
    ],
)
def test_wrong_options(options, sentence):
    with pytest.raises(MetaevalError, match=sentence):
        level_correlations(X, Y, **options)
