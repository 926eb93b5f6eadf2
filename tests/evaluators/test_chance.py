from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import metaeval as me
from metaeval.base.errors import SpecError
from metaeval.base.records import Kind, Scale
from metaeval.kinds.registry import build
from tests.evaluators.making import make_set, scores_of

MANY = make_set(["text"] * 4000)


def test_random_is_uniform_on_the_scale():
    table = me.score(MANY, ["Random()"])
    counts = table.frame.groupby("score").size()
    assert counts.index.tolist() == [1, 2, 3, 4, 5]
    assert counts.between(1450, 1750).all()
    assert table.kinds["Random()"] is Kind.BASELINE


def test_random_of_a_scale_of_numbers_is_uniform_between_its_ends():
    data = dataclasses.replace(MANY, scale=Scale(-2, 2, integer=False))
    scores = me.score(data, ["Random(seed=3)"]).frame["score"]
    assert scores.between(-2, 2).all()
    assert scores.nunique() == len(scores)
    assert abs(scores.mean()) < 0.1


def test_random_depends_on_seed_unit_and_aspect_alone():
    backwards = dataclasses.replace(MANY, explanations=MANY.explanations[::-1].reset_index(drop=True))
    first = scores_of(me.score(MANY, ["Random(seed=7)"]), "Random(seed=7)", "true")
    assert scores_of(me.score(backwards, ["Random(7)"], aspects=["true"]), "Random(7)", "true") == first
    fewer = make_set(["other"] * 10)
    assert scores_of(me.score(fewer, ["Random(7)"]), "Random(7)", "true") == {
        k: first[k] for k in list(first)[:10]
    }


def test_random_seeds_and_aspects_are_independent():
    frame = me.score(MANY, ["Random(seed=0)", "Random(seed=1)"]).frame
    columns = [g["score"].to_numpy() for _, g in frame.groupby(["evaluator", "aspect"])]
    correlations = np.corrcoef(columns) - np.eye(len(columns))
    assert np.abs(correlations).max() < 0.06


def test_random_stays_what_it_was():
    scores = scores_of(me.score(make_set(["a"] * 6), ["Random(seed=0)"]), "Random(seed=0)")
    assert [s for s, _ in scores.values()] == [5, 4, 3, 2, 3, 2]


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("Random(seed='a')", "seed must be an integer, not 'a'"),
        ("Random(seed=True)", "not True"),
        ("Random(sed=1)", "did you mean 'seed'"),
    ],
)
def test_wrong_arguments(spec, said):
    with pytest.raises(SpecError, match=said):
        build(spec)
