"""DataFrames of any shape into the public functions: types, indexes, categories."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import metaeval as me
from metaeval.base.errors import DataError, MetaevalError
from metaeval.base.records import Kind

KEYS = ["user_id", "item_id", "generator"]
NAMES = {*KEYS, "evaluator", "aspect", "rater"}
TEXTS = {"evaluator", "aspect", "rater", "explanation"}
LEVELS = ["dataset", "user", "pair", "item", "generator"]


def _units():
    return pd.DataFrame([(u, i, g) for u in (3, 1, 2, 10) for i in (30, 4) for g in range(3)], columns=KEYS)


def _made():
    rng = np.random.default_rng(0)
    units = _units()
    n = len(units)
    truth = [units.assign(aspect=a, rating=rng.integers(1, 6, n)) for a in "ba"]
    scores = [units.assign(evaluator=e, aspect=a, score=rng.normal(size=n)) for e in "yx" for a in "ab"]
    return pd.concat(truth, ignore_index=True), pd.concat(scores, ignore_index=True)


TRUTH, SCORES = _made()


def by_column(change, chosen):
    """Return a change of those columns of a frame that are chosen."""
    return lambda frame: frame.assign(**{c: change(frame[c]) for c in frame.columns if c in chosen})


def as_type(dtype, chosen):
    return by_column(lambda column: column.astype(dtype), chosen)


def dictionary(column):
    """Return Arrow's own kind of categories."""
    codes = pa.chunked_array([pa.array(column.tolist()).dictionary_encode()])
    return pd.Series(pd.arrays.ArrowExtensionArray(codes), index=column.index)


SHAPES = {
    "category": as_type("category", NAMES),
    "categories in another order": by_column(
        lambda c: pd.Categorical(c, categories=sorted(c.unique(), key=str, reverse=True)), NAMES
    ),
    "categories that do not occur": by_column(
        lambda c: pd.Categorical(c, categories=[99, *c.unique()]), KEYS
    ),
    "object": lambda frame: frame.astype(object),
    "string in Python": as_type("string[python]", TEXTS),
    "string in Arrow": as_type("string[pyarrow]", TEXTS),
    "nullable": lambda frame: frame.convert_dtypes(),
    "Arrow": lambda frame: frame.convert_dtypes(dtype_backend="pyarrow"),
    "Arrow's dictionaries": by_column(dictionary, NAMES),
    "small whole numbers": as_type("uint8", KEYS),
    "ids as floats": as_type("float64", KEYS),
    "short floats": as_type("float32", {"rating"}),
    "decimals": by_column(lambda c: [Decimal(int(v)) for v in c], {"rating"}),
    "index backwards": lambda frame: frame.set_axis(frame.index[::-1] * 3 + 7),
    "index of one value": lambda frame: frame.set_axis([5] * len(frame)),
    "keys in the index": lambda frame: frame.set_index(KEYS),
    "some names in the index": lambda frame: frame.set_index(
        ["generator", *(["aspect"] if "aspect" in frame else [])]
    ),
    "further levels": lambda frame: frame.set_axis(
        pd.MultiIndex.from_arrays([frame.index, frame.index * 2], names=["a", None])
    ),
    "a key beside a further level": lambda frame: frame.assign(row=range(len(frame))).set_index(
        ["row", "user_id"]
    ),
    "an index named as a column": lambda frame: frame.set_axis(pd.Index(frame["user_id"], name="user_id")),
    "columns as categories": lambda frame: frame.set_axis(pd.CategoricalIndex(frame.columns), axis=1),
    "further columns": lambda frame: frame.assign(note="x", weight=1.5),
}


def correlated(scores, truth):
    return me.correlate(scores, truth, levels=LEVELS, bootstrap={"resamples": 30}).frame


@pytest.mark.parametrize("shape", SHAPES)
def test_correlate_takes_any_shape(shape):
    change = SHAPES[shape]
    expected = correlated(SCORES, TRUTH)
    pd.testing.assert_frame_equal(correlated(change(SCORES), change(TRUTH)), expected)
    pd.testing.assert_frame_equal(correlated(change(SCORES), TRUTH), expected)
    pd.testing.assert_frame_equal(correlated(SCORES, change(TRUTH)), expected)


@pytest.mark.parametrize("shape", SHAPES)
def test_from_frames_takes_any_shape(shape):
    change = SHAPES[shape]
    explanations = _units().assign(explanation=[f"text {i}" for i in range(len(_units()))])
    ratings = TRUTH.assign(rater="user")
    plain = me.from_frames(explanations, ratings, scores=SCORES)
    if shape == "further columns":
        changed = me.from_frames(explanations, change(ratings), scores=change(SCORES))
        assert changed.ratings["note"].unique().tolist() == ["x"]
        return
    changed = me.from_frames(change(explanations), change(ratings), scores=change(SCORES))
    assert changed.fingerprint == plain.fingerprint
    first, second = (me.score(d, ["Length()", "User()", "Recorded('x')"]).frame for d in (plain, changed))
    pd.testing.assert_frame_equal(second, first)


def test_text_and_numbers_are_not_the_same_id():
    with pytest.raises(DataError, match="no user_id of the scores is in the truth: they have '3'"):
        correlated(SCORES.astype({"user_id": "str"}), TRUTH)


@pytest.mark.parametrize(
    "change",
    [
        lambda frame: frame,
        lambda frame: frame.set_index(["evaluator", "aspect", "level", "coefficient"]),
        lambda frame: frame.astype({"evaluator": "category", "level": "category", "n_units": "Int64"}),
        lambda frame: frame.convert_dtypes(dtype_backend="pyarrow"),
        lambda frame: frame.astype("str"),
        lambda frame: frame.assign(block="x").iloc[:, ::-1],
    ],
)
def test_a_leaderboard_of_a_table(change):
    result = me.correlate(SCORES, TRUTH, bootstrap={"resamples": 30})
    board = me.leaderboard(change(result.frame))
    expected = me.leaderboard(result)
    pd.testing.assert_frame_equal(board.frame, expected.frame)
    pd.testing.assert_frame_equal(board.tables[0].frame, expected.tables[0].frame)
    assert {block for t in board.tables for block in t.frame["block"]} == {Kind.RECORDED}
    assert "Policy: not known, for the numbers came as a table." in board.to_markdown()


def test_a_leaderboard_is_made_of_correlations_alone():
    result = me.correlate(SCORES, TRUTH)
    with pytest.raises(DataError, match="has no column 'estimate'; did you mean 'estimates'"):
        me.leaderboard(result.frame.rename(columns={"estimate": "estimates"}))
    with pytest.raises(DataError, match="more than one row for 'y', 'b', 'dataset', 'pearson'; keep one"):
        me.leaderboard(pd.concat([result.frame, result.frame.head(1)]))
    with pytest.raises(DataError, match="column 'estimate' of the table of correlations must hold numbers"):
        me.leaderboard(result.frame.assign(estimate="high"))
    with pytest.raises(DataError, match="column 'level' of the table of correlations is empty in row 0"):
        me.leaderboard(result.frame.assign(level=None))
    with pytest.raises(MetaevalError, match="takes what correlate returned, or its frame, not a dict"):
        me.leaderboard(result.frame.to_dict())
    tests = me.compare(SCORES, TRUTH, permutations=20)
    with pytest.raises(MetaevalError, match="tests are what compare returned, not its frame"):
        me.leaderboard(result, tests=tests.frame)


class TestExplanationsAlone:
    """A DataFrame of explanations, without ratings."""

    def test_scores_hold_for_all_aspects(self, sample):
        data = me.load(sample)
        truth = data.ratings[data.ratings["rater"] == "user"]
        alone = me.score(data.explanations, ["Length()", "BLEU(n=1)"])
        assert alone.frame["aspect"].unique().tolist() == [""]
        first, second = (me.correlate(s, truth) for s in (me.score(data, ["Length()", "BLEU(n=1)"]), alone))
        pd.testing.assert_frame_equal(first.frame, second.frame)

    def test_aspects_may_be_named(self):
        units = _units().set_index(KEYS).assign(explanation="a text")
        assert me.score(units, ["Length()"], aspects=["a", "b"]).frame["aspect"].value_counts().to_dict() == {
            "a": 24,
            "b": 24,
        }

    @pytest.mark.parametrize("spec", ["Judge('simulated/one')", "Mean(Length(), Judge('simulated/one'))"])
    def test_a_judge_needs_to_know_the_scale(self, spec):
        with pytest.raises(DataError, match="a judge needs the statements and the scale"):
            me.score(_units().assign(explanation="a text"), [spec])

    def test_ratings_are_not_there(self):
        with pytest.raises(DataError, match="it has no ratings"):
            me.score(_units().assign(explanation="a text"), ["User()"])

    @pytest.mark.parametrize("given", ["data/sample", None, [1]])
    def test_nothing_else_is_scored(self, given):
        with pytest.raises(DataError, match="score takes a data set or a DataFrame of explanations, not a"):
            me.score(given, ["Length()"])
