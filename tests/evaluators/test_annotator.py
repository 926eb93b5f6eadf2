from __future__ import annotations

import numpy as np
import pytest

import metaeval as me
from metaeval.base.errors import DataError, SpecError
from metaeval.base.records import Kind
from metaeval.kinds.registry import build
from tests.evaluators.making import make_set, scores_of

RATINGS = [
    (0, "user", "clear", 5),
    (1, "user", "clear", np.nan),
    (0, "1", "clear", 3),
    (2, "1", "clear", 4),
    (2, "1", "true", 2),
    (1, "1", "true", np.nan),
]


def test_rows_only_where_a_question_was_asked():
    table = me.score(make_set(["a", "b", "c"], ratings=RATINGS), ["User()", "Annotator('1')"])
    assert scores_of(table, "User()", "clear") == {
        "i0": (5, "ok"),
        "i1": (pytest.approx(np.nan, nan_ok=True), "missing"),
    }
    assert scores_of(table, "User()", "true") == {}
    assert scores_of(table, "Annotator('1')", "clear") == {"i0": (3, "ok"), "i2": (4, "ok")}
    assert scores_of(table, "Annotator('1')", "true")["i1"][1] == "missing"
    assert table.kinds == {"User()": Kind.ANNOTATOR, "Annotator('1')": Kind.ANNOTATOR}
    assert table.signatures["Annotator('1')"]["rater"] == "1"


def test_a_study_without_users():
    data = make_set(["a", "b"], ratings=[(1, "x", "clear", 2)], users=False)
    frame = me.score(data, ["Annotator('x')"]).frame
    assert list(frame.columns[:2]) == ["item_id", "generator"]
    assert frame["score"].tolist() == [2]


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        (
            "Annotator('annotater')",
            "no ratings of 'annotater'; its raters are '1', 'annotator'; did you mean 'annotator'",
        ),
        ("User()", "no ratings of 'user'"),
    ],
)
def test_an_unknown_rater_is_answered_with_the_known(spec, said):
    data = make_set(["a"], ratings=[(0, "1", "clear", 3), (0, "annotator", "clear", 3)])
    with pytest.raises(DataError, match=said):
        me.score(data, [spec])


def test_a_rater_without_ratings_of_the_aspect():
    with pytest.raises(DataError, match=r"User.* rated 'clear', not 'true'"):
        me.score(make_set(["a", "b"], ratings=RATINGS[:2]), ["User()"], aspects=["true"])


def test_two_ratings_of_one_question_are_refused():
    data = make_set(["a"], ratings=[(0, "1", "clear", 3), (0, "1", "clear", 4)])
    with pytest.raises(DataError, match=r"two rows for unit .*'i0'.* aspect 'clear'"):
        me.score(data, ["Annotator('1')"])


def test_a_rating_of_a_unit_that_is_not_there_is_refused():
    data = make_set(["a"], ratings=[(0, "1", "clear", 3)])
    data.ratings["item_id"] = "elsewhere"
    with pytest.raises(DataError, match=r"'elsewhere'.*not among the explanations"):
        me.score(data, ["Annotator('1')"])


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("Annotator(1)", r"must be a text in quotes, not 1; write Annotator\('1'\)"),
        ("Annotator('')", "must not be empty"),
        ("Annotator('user')", r"written User\(\)"),
        ("Annotator()", "missing a required argument: 'name'"),
        ("User('1')", "too many positional arguments"),
    ],
)
def test_wrong_arguments(spec, said):
    with pytest.raises(SpecError, match=said):
        build(spec)
