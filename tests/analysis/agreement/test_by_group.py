"""Coefficients and bias within groups, against pandas a group at a time."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import metaeval as me
from metaeval.analysis.agreement.measures import bias_by_group, by_group
from metaeval.engine.alignment.policy import Policy
from metaeval.engine.alignment.prepared import prepare


def frames(seed: int = 0) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return ratings and the scores of two evaluators, some of them missing."""
    rng = np.random.default_rng(seed)
    units = pd.MultiIndex.from_product(
        [["u10", "u2", "u1"], ["i1", "i2"], ["a", "b", "c", "d"]], names=["user_id", "item_id", "generator"]
    ).to_frame(index=False)
    truth = pd.concat([units.assign(aspect=a, rating=rng.integers(1, 6, len(units)) * 1.0) for a in "xy"])
    scores = pd.concat(
        [truth.assign(evaluator=e, score=rng.integers(1, 6, len(truth)) * 1.0) for e in ("one", "two")]
    ).drop(columns="rating")
    return truth, scores.sample(frac=0.9, random_state=seed)


@pytest.mark.parametrize("level", ["user", "pair", "item"])
def test_terms_are_the_coefficients_of_the_groups(level: str) -> None:
    truth, scores = frames()
    policy = Policy.of([level], ["pearson", "kendall"], None, "skip", "own")
    (found,) = by_group(prepare(scores, truth, policy))
    keys = list(found.keys)
    assert (found.name, found.at) == (level, {"level": level})
    assert list(found.ids) == sorted(found.ids)
    (terms,) = (c.numbers for c in found.columns)
    joined = truth.merge(scores, on=["user_id", "item_id", "generator", "aspect"])
    for e, evaluator in enumerate(("one", "two")):
        for a, aspect in enumerate("xy"):
            of_one = joined[(joined["evaluator"] == evaluator) & (joined["aspect"] == aspect)]
            for c, coefficient in enumerate(("pearson", "kendall")):
                naive = {
                    names: rows["rating"].corr(rows["score"], method=coefficient)
                    for names, rows in of_one.groupby(keys)
                    if min(len(set(rows[c])) for c in ("rating", "score")) > 1
                }
                expected = [naive.get(names, np.nan) for names in found.ids]
                np.testing.assert_allclose(terms[e, a, c], expected, atol=1e-12)
    np.testing.assert_array_equal(terms[:, 2], terms[:, :2].mean(axis=1))


def test_the_mean_of_the_terms_is_the_estimate() -> None:
    truth, scores = frames(1)
    result = me.correlate(scores, truth, levels=["user"], coefficients=["spearman"], missing={"score": 3})
    (found,) = by_group(
        prepare(scores, truth, Policy.of(["user"], ["spearman"], {"score": 3}, "skip", "common"))
    )
    frame = result.frame.set_index(["evaluator", "aspect"])["estimate"]
    for e, evaluator in enumerate(("one", "two")):
        for a, aspect in enumerate("xy"):
            mean = np.nanmean(found.columns[0].numbers[e, a, 0])
            assert mean == pytest.approx(frame[evaluator, aspect], abs=1e-12)


def test_levels_that_do_not_average_over_groups_have_none() -> None:
    truth, scores = frames()
    policy = Policy.of(["dataset", "generator"], ["pearson"], None, "skip", "common")
    assert by_group(prepare(scores, truth, policy)) == []


def test_bias_is_the_mean_difference_of_a_group() -> None:
    difference = np.array([[1.0, -1.0, np.nan, 2.0], [3.0, np.nan, np.nan, 0.0]])
    found = bias_by_group(difference, np.array([0, 0, 1, 2]), 4)
    np.testing.assert_array_equal(
        found,
        [[0.0, np.nan, 2.0, np.nan], [3.0, np.nan, 0.0, np.nan], [1.5, np.nan, 1.0, np.nan]],
    )
    assert bias_by_group(difference[:1], np.array([0, 0, 1, 2]), 3).shape == (1, 3)
