"""The module as users of the `evaluate` library meet it: loaded from its path, without a network."""

from __future__ import annotations

from pathlib import Path

import evaluate
import numpy as np
import pandas as pd
import pytest

import metaeval as me
from metaeval.base.errors import DataError, MetaevalError


@pytest.fixture(scope="module")
def module(evaluate_offline):
    return evaluate.load(me.evaluate_module())


@pytest.fixture(scope="module")
def joined():
    """Scores and ratings of the sample's first aspect, one row per unit, in no order."""
    data = me.load(Path(__file__).parents[2] / "data" / "sample")
    scores = me.score(data, ["ROUGE('L')"], aspects=["accuracy"])
    truth = data.ratings.query("rater == 'user' and aspect == 'accuracy'")
    rows = truth.merge(scores.frame, on=["user_id", "item_id", "generator"]).sample(frac=1, random_state=1)
    return scores.frame, truth, rows


def columns(rows):
    return {
        "predictions": rows["score"],
        "references": rows["rating"],
        "users": rows["user_id"],
        "items": rows["item_id"],
    }


def test_same_numbers_as_correlate(module, joined):
    _, _, rows = joined
    scores = rows[["user_id", "item_id", "generator", "evaluator", "score"]]
    result = me.correlate(
        scores, rows[["user_id", "item_id", "generator"]].assign(aspect="a", rating=rows["rating"])
    )
    found = module.compute(**columns(rows))
    for row in result:
        if row.aspect == "a":
            assert found[f"{row.coefficient}_{row.level}"] == pytest.approx(row.estimate, abs=1e-15)
            assert found[f"n_undefined_{row.level}"] == row.n_undefined
            assert found[f"n_groups_{row.level}"] == row.n_groups


def test_batches_and_single_units_give_the_same(module, joined):
    _, _, rows = joined
    rows = rows.head(120)
    whole = module.compute(**columns(rows))
    for start in range(0, len(rows), 50):
        module.add_batch(**columns(rows.iloc[start : start + 50]))
    assert module.compute() == whole
    for row in rows.itertuples():
        module.add(prediction=row.score, reference=row.rating, users=row.user_id, items=row.item_id)
    assert module.compute() == whole


def test_ids_of_any_type_and_none_at_all(module):
    scores, ratings = [1, 2, 3.5, None], np.array([1, 2, 2, 4])
    as_numbers = module.compute(predictions=scores, references=ratings, users=[1, 1, 1, 1])
    as_texts = module.compute(
        predictions=scores, references=ratings, users=pd.Series(["a"] * 4, index=[9, 8, 7, 6])
    )
    assert as_numbers == as_texts
    assert as_numbers["n_missing"] == 1
    without = module.compute(predictions=scores, references=ratings, coefficients=["kendall"])
    assert set(without) == {
        "kendall_dataset",
        "n_groups_dataset",
        "n_undefined_dataset",
        "n_units",
        "n_missing",
    }
    module.add(prediction=1, reference=1)
    module.add(prediction=2, reference=3)
    assert module.compute(levels=["dataset"])["n_units"] == 2


@pytest.mark.parametrize(
    ("more", "error", "sentence"),
    [
        ({"levels": ["user"]}, MetaevalError, "level 'user' needs users"),
        ({"users": ["a", None, "b"]}, DataError, "users are empty at position 1"),
        ({"users": ["a"]}, ValueError, "Mismatch in the number of predictions"),
    ],
)
def test_wrong_input_is_said_and_leaves_the_module_usable(module, more, error, sentence):
    with pytest.raises(error, match=sentence):
        module.compute(predictions=[1, 2, 3], references=[1, 2, 2], **more)
    assert module.compute(predictions=[1, 2, 3], references=[1, 2, 2])["n_units"] == 3


def test_ids_in_some_batches_only(module):
    module.add_batch(predictions=[1, 2], references=[1, 2], users=["a", "b"])
    module.add_batch(predictions=[1, 2], references=[1, 2])
    with pytest.raises(DataError, match="users are given in some batches only"):
        module.compute()
