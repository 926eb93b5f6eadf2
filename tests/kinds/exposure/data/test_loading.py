"""A log that is saved comes back the same; what is wrong with one on disk is named cell by cell."""

import datetime as dt
import json
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import metaeval as me
from metaeval.base.errors import DataError
from metaeval.cli import cli
from metaeval.data.tables.columns import text_column
from metaeval.data.tables.table import from_frame
from metaeval.kinds.exposure.data.loading import category_column, load, log_of, save, time_column
from tests.examples import examples
from tests.kinds.saved import assert_same, nasty, replace

ABOUT = {"name": "shop", "outcome": {"min": 0, "max": 1}}
SIDES = ("propensity_first", "propensity_second")
FRAMES = ("table", "ratings", "log", "items", "profiles", "runs", "test", "scores", "synthetic")
OTHERS = ("outcome", "positive", "statement", "exposure")


def tables():
    """Two users, three items, a pair of each user."""
    return {
        "log": pd.DataFrame(
            {
                "user_id": ["u1", "u1", "u1", "u2", "u2"],
                "item_id": ["a", "b", "b", "b", "c"],
                "timestamp": [10.0, 20.0, 30.0, 15.0, 25.0],
                "outcome": [1.0, 0.0, 1.0, 0.0, 0.0],
                "position": [1.0, 1.0, 2.0, 1.0, 2.0],
                "propensity": [0.5, 0.25, 0.25, 1.0, 0.125],
                "device": ["phone", "", "phone", "web", "web"],
            }
        ),
        "items": pd.DataFrame(
            {"item_id": ["a", "b", "c"], "title": ["A", "B", ""], "price": [1.0, np.nan, 3.0]}
        ),
        "profiles": pd.DataFrame({"user_id": ["u1", "u2"], "age": ["30", ""]}),
        "pairs": pd.DataFrame(
            [("u1", "1", "a", "b", "0", 0.5, 0.25, 6.0), ("u2", "1", "b", "c", "1", 1.0, 0.125, 9.0)],
            columns=["user_id", "pair", "first", "second", "popularity", *SIDES, "weight"],
        ),
        "runs": pd.DataFrame({"system": "s", "user_id": "u1", "item_id": ["c", "a"], "rank": [1, 2]}),
        "test": pd.DataFrame({"user_id": ["u1"], "item_id": ["c"], "outcome": [1.0]}),
        "scores": pd.DataFrame(
            [("u1", "1", "second", "e", "", 0.5)],
            columns=["user_id", "pair", "order", "evaluator", "aspect", "score"],
        ),
        "synthetic": pd.DataFrame(
            {"user_id": ["u1"], "item_id": ["c"], "step": [1], "source": ["synth"], "reason": ["x"]}
        ),
    }


def test_units_are_both_orders_of_a_pair_and_the_truth_is_the_sign_of_the_mean_outcomes():
    data = log_of(ABOUT, tables())
    shown = data.table[["user_id", "pair", "order", "first", "second"]].to_numpy().tolist()
    assert shown[:2] == [["u1", "1", "first", "a", "b"], ["u1", "1", "second", "b", "a"]]
    assert data.table["propensity_first"].tolist() == [0.5, 0.25, 1.0, 0.125]
    assert data.table["weight"].tolist() == [6.0, 6.0, 9.0, 9.0]
    # u1 has an outcome of 1 for a, and of 0 and 1 for b.
    assert data.ratings["rating"].tolist() == [1.0, -1.0, 0.0, 0.0]
    assert data.counts["log row"] == 5
    assert data.counts["pair"] == 2
    assert data.positive == 1


def test_without_a_user_nothing_of_the_user_is_left():
    data = log_of(ABOUT, tables()).without("user_id", ["u1"])
    assert (len(data), set(data.log["user_id"])) == (2, {"u2"})
    assert [len(frame) for frame in (data.runs, data.test, data.synthetic, data.scores)] == [0] * 4


def test_a_log_needs_no_users_and_no_pairs():
    log = tables()["log"].drop(columns="user_id")
    data = log_of(ABOUT, {"log": log, "items": tables()["items"]})
    assert (len(data), data.counts["user"]) == (0, 0)


@settings(max_examples=examples(12))
@given(st.data())
def test_round_trip(data):
    given = tables()
    rows = data.draw(st.integers(1, 6))
    many = {"min_size": rows, "max_size": rows}
    columns = {
        "user_id": nasty,
        "item_id": nasty,
        "timestamp": st.floats(0, 2e9),
        "outcome": st.sampled_from([0.0, 1.0]),
        "position": st.integers(1, 9),
        "propensity": st.floats(1e-9, 1),
        "device": nasty | st.just(""),
    }
    more = {name: data.draw(st.lists(values, **many)) for name, values in columns.items()}
    given["log"] = pd.concat([given["log"], pd.DataFrame(more)], ignore_index=True)
    made = log_of({**ABOUT, "statement": data.draw(nasty).strip(), "exposure": "pair"}, given)
    with tempfile.TemporaryDirectory() as folder:
        for kind in ("parquet", "csv", "jsonl"):
            assert_same(made, load(save(made, Path(folder) / kind, kind)), FRAMES, OTHERS)


@pytest.fixture
def folder(tmp_path):
    return save(log_of(ABOUT, tables()), tmp_path / "shop", "csv")


@pytest.mark.parametrize(
    ("file", "old", "new", "says"),
    [
        ("log.csv", ",0.5,", ",1.5,", "log.csv, row 2, column 'propensity': the propensity 1.5"),
        ("log.csv", ",0.5,", ",0,", "log.csv, row 2, column 'propensity': the propensity 0 is not above 0"),
        ("log.csv", ",0.5,", ",,", "log.csv, row 2, column 'propensity': is empty"),
        ("log.csv", "u1,a,1,", "u1,a,2,", "row 2, column 'outcome': the outcome 2 is not on the scale"),
        ("log.csv", "u1,a,1,", "u1,a,0.5,", "the outcome 0.5 is not on the scale; allowed are integers"),
        ("log.csv", "u1,a,1,", "u1,a,x,", "row 2, column 'outcome': is 'x'; it may be a finite number"),
        ("log.csv", "u1,a,1,1,", "u1,a,1,0,", "column 'position': the position 0 is not a whole number"),
        ("log.csv", "u1,b,", ",b,", "log.csv, row 3, column 'user_id': is empty"),
        ("log.csv", "outcome", "outcom", "column 'outcome': is missing; did you mean 'outcom'?"),
        ("log.csv", ",10,", ",tomorrow,", "row 2, column 'timestamp': is 'tomorrow'; it may be"),
        ("items.csv", "b,", "a,", "items.csv, row 3: the item (item_id 'a') is already in row 2"),
        ("pairs.csv", "u1,1,a,b", "u1,1,a,c", "pairs.csv, row 2, column 'second': is 'c', of which the"),
        ("pairs.csv", "u1,1,a,b", "u1,1,a,a", "is the item of `first`; a pair has two different items"),
        ("pairs.csv", "u2,1,b,c", "u9,1,b,c", "row 3, column 'user_id': the user 'u9' has no row in the log"),
        ("pairs.csv", ",6", ",-6", "pairs.csv, row 2, column 'weight': the weight -6 is not above 0"),
        ("runs.csv", ",1\n", ",3\n", "the rank is 3, and there are fewer"),
        ("test.csv", ",1\n", ",\n", "test.csv, row 2, column 'outcome': is empty"),
        ("scores.csv", "second", "third", "scores.csv, row 2, column 'order': is neither 'first'"),
        ("scores.csv", "u1,1,", "u1,7,", "scores.csv, row 2, column 'pair': the user has no pair '7'"),
        (
            "log.csv",
            "u2,c,",
            "u1,c,1,40,1,0.5,phone\nu2,c,",
            "synthetic.csv, row 2, column 'item_id': is 'c'",
        ),
        ("synthetic.csv", "synth", "web", "synthetic.csv, row 2, column 'source': is not 'synth'"),
        ("synthetic.csv", "synth", "", "synthetic.csv, row 2, column 'source': is empty"),
        ("dataset.yaml", "outcome:", "positive: 2\noutcome:", "positive: 2 does not split the outcomes"),
        ("dataset.yaml", "outcome:", "positve: 1\noutcome:", "unknown key 'positve'; did you mean 'pos"),
    ],
)
def test_what_is_wrong_is_named_cell_by_cell(folder, file, old, new, says):
    replace(folder / file, old, new)
    with pytest.raises(DataError) as error:
        load(folder)
    assert says in "\n".join(map(str, error.value.problems))
    assert len(error.value.problems) == 1


@pytest.mark.parametrize(
    ("file", "text", "says"),
    [
        (
            "test.csv",
            "user_id,item_id,outcome,step,source,reason\nu1,c,1,1,g,x\n",
            "has the columns of synthetic",
        ),
        ("log.csv", "item_id,outcome\na,1\n", r"names users, but log\.csv does not"),
    ],
)
def test_a_table_that_cannot_be_is_refused_whole(folder, file, text, says):
    (folder / file).write_text(text)
    with pytest.raises(DataError, match=says):
        load(folder)


def test_times_are_seconds_or_dates(folder):
    (folder / "log.csv").write_text(
        "user_id,item_id,outcome,timestamp\nu1,a,1,1970-01-02\nu1,b,0,1970-01-01T01:00:00+01:00\n"
        "u2,b,0,1970-01-01 00:00:01.5\nu2,c,1,\n"
    )
    times = load(folder).log["timestamp"].to_numpy()
    np.testing.assert_array_equal(times, [86400, 0, 1.5, np.nan])
    replace(folder / "log.csv", "1970-01-02", "2 January")
    with pytest.raises(DataError, match="row 2, column 'timestamp': is '2 January'; it may be seconds"):
        load(folder)
    dates = pd.to_datetime(pd.Series(["1970-01-02", None]), utc=True)
    log = pd.DataFrame({"item_id": ["a", "b"], "outcome": [1, 0], "timestamp": dates})
    np.testing.assert_array_equal(log_of(ABOUT, {"log": log}).log["timestamp"], [86400, np.nan])


def test_load_and_check(folder):
    assert me.load(folder).fingerprint == load(folder).fingerprint
    done = CliRunner().invoke(cli, ["data", "check", str(folder)])
    assert (done.exit_code, "5 log rows" in done.stdout) == (0, True)
    replace(folder / "log.csv", ",0.5,", ",7,")
    wrong = CliRunner().invoke(cli, ["data", "check", str(folder), "--json"])
    assert wrong.exit_code == 1
    (problem,) = json.loads(wrong.stdout)["problems"]
    assert (problem["file"], problem["row"], problem["column"]) == ("log.csv", 2, "propensity")


cells = st.lists(st.one_of(st.text(max_size=3), st.none()), max_size=20) | st.lists(
    st.one_of(st.integers(-3, 3), st.sampled_from([1.5, 2.0]), st.none()), max_size=20
)


def one_column(values):
    return from_frame(pd.DataFrame({"x": pd.Series(values, dtype=object)}), "log.csv")


@given(cells)
def test_a_categorical_has_the_texts_of_its_cells(values):
    found, problems = category_column(one_column(values), "x")
    texts, _ = text_column(one_column(values), "x")
    assert (found.astype("str").tolist(), problems) == (texts.tolist(), [])
    assert len(set(found.cat.categories)) == len(found.cat.categories)


@given(st.lists(st.datetimes(dt.datetime(1900, 1, 1), dt.datetime(2100, 1, 1)), min_size=1, max_size=9))
def test_dates_are_seconds_in_any_form(moments):
    expected = [m.replace(tzinfo=dt.UTC).timestamp() for m in moments]
    zoned = [m.replace(tzinfo=dt.UTC).astimezone(dt.timezone(dt.timedelta(hours=5))) for m in moments]
    texts = ([m.isoformat() for m in own] for own in (moments, zoned))
    for column in (*texts, pd.Series(moments).tolist(), expected):
        frame = pd.DataFrame({"x": column})
        seconds, problems = time_column(from_frame(frame, "log.csv"), "x")
        assert not problems
        np.testing.assert_allclose(seconds, expected, rtol=0, atol=1e-4)
