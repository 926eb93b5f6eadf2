"""The ranking of evaluators: order, ranges, verdicts, counts and costs."""

import numpy as np
import pandas as pd
import pytest

import metaeval as me
from metaeval.base.errors import MetaevalError
from metaeval.engine.correlation import correlation_board
from metaeval.engine.order.paired_tests import correlation_cell
from metaeval.engine.order.ranking import ranking as ranking_of
from metaeval.engine.order.standings import standings
from metaeval.engine.sentences import policy_sentences
from tests.engine.known_judges import judges


def ranking(result, **options):
    return ranking_of(correlation_board(result), **options)


def ranked(data=None, by=None, **options):
    data = data or judges()
    result = me.correlate(*data, levels=["dataset", "user", "pair"], bootstrap={"resamples": 300})
    by = by or correlation_cell()
    tests = me.compare(*data, **by, permutations=1000, **options)
    return ranking(result, tests=tests)


def column_of(sheet, name):
    return dict(zip(sheet.frame["evaluator"], sheet.frame[name], strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("level", ["dataset", "user", "pair"])
def test_twins_share_their_ranks_and_a_shuffled_judge_is_with_random(level):
    """In nearly all studies: at 5 %, a study in forty tells twins apart by chance."""
    by = correlation_cell(level=level)
    together = 0
    for seed in range(12):
        data = judges(seed)
        result = me.correlate(*data, levels=[level], coefficients=["pearson"])
        tests = me.compare(*data, level=level, permutations=1000)
        ranges = column_of(ranking(result, tests=tests, by=by), "rank_range")
        assert ranges["weak"] == "3"
        together += ranges["good"] == ranges["twin"] == "1–2" and ranges["shuffled"] == ranges["Random"]
    assert together >= 10


def test_rows_come_best_first_with_their_verdict():
    sheet = ranked()
    frame = sheet.frame
    assert frame["estimate"].is_monotonic_decreasing
    assert frame["rank"].tolist() == ["1", "2", "3", "4", "5"]
    assert frame["rank_range"].tolist() == ["1–2", "1–2", "3", "4–5", "4–5"]
    assert frame["may_be_best"].tolist() == [True, True, False, False, False]
    assert (frame["p_best"] > 0.05).tolist() == frame["may_be_best"].tolist()
    assert frame["better_than_baseline"].isna().all(), "frames do not say what a baseline is"
    assert frame["verdict"].iloc[0] == "best"
    assert frame["verdict"].iloc[1].startswith("p = ")
    assert (frame["verdict"].iloc[2:].str.startswith("worse, p ")).all()
    assert frame["worse_than_best"].tolist() == [False, False, True, True, True]
    shown = ["rank", "rank_range", "label", "estimate", "may_be_best", "p_best", "difference"]
    assert [c.name for c in sheet.columns] == shown
    assert sheet.columns[3][3:5] == ("ci_low", "ci_high")
    assert sheet.columns[6][3:5] == ("difference_low", "difference_high")
    np.testing.assert_allclose(
        frame["difference"].iloc[1:], (frame["estimate"] - frame["estimate"].iloc[0])[1:]
    )
    assert (frame["difference_high"] < 0).tolist() == [False, False, True, True, True]


def test_notes_say_what_was_done():
    notes = " ".join(ranked(by=correlation_cell("clear", "user", "kendall"), correction="bh").notes)
    for part in (
        "Ordered by clear, user level, kendall, × 100.",
        "95 % bootstrap intervals (percentiles, widened for few clusters; 300 resamples of 30 users, seed 0)",
        "5 %, each range by itself; bootstrap-t, 10,000 resamples of 30 users, seed 0",
        "that test is one-sided",
        "Differences have 95 % intervals (jackknife)",
    ):
        assert part in notes


def test_without_tests_and_intervals_there_is_the_order_alone():
    sheet = ranking(me.correlate(*judges()))
    assert [c.name for c in sheet.columns] == ["rank", "label", "estimate"]
    assert sheet.notes == ("Ordered by the average over aspects, dataset level, pearson, × 100.",)


def test_the_default_column_is_the_average_or_the_only_aspect():
    scores, truth = judges()
    assert correlation_board(me.correlate(scores, truth)).cell() == correlation_cell()
    one = me.correlate(scores, truth[truth["aspect"] == "true"], levels=["user"], coefficients=["kendall"])
    board = correlation_board(one)
    assert board.cell() == correlation_cell("true", "user", "kendall")
    assert board.cell("average") == board.cell(), "the average of one aspect is that aspect"


@pytest.mark.parametrize(
    ("by", "message"),
    [
        (
            correlation_cell("cleer"),
            r"no aspect 'cleer' to order by.*clear.*\(it has: clear, true, average\)",
        ),
        (correlation_cell(level="item"), r"no level 'item' to order by.*\(it has: dataset, user, pair\)"),
        (correlation_cell(coefficient="tau"), "no coefficient 'tau' to order by"),
    ],
)
def test_a_column_that_is_not_there(by, message):
    with pytest.raises(MetaevalError, match=message):
        ranking(me.correlate(*judges(users=4)), by=by)


def test_tests_of_another_column_are_refused():
    data = judges(users=4)
    tests = me.compare(*data, level="user", permutations=10)
    with pytest.raises(
        MetaevalError,
        match=r"tests are by the average over aspects, user level, pearson.*not by .* dataset level",
    ):
        ranking(me.correlate(*data), by=correlation_cell(), tests=tests)
    assert (
        ranking(me.correlate(*data), tests=tests)
        .notes[0]
        .startswith("Ordered by the average over aspects, user")
    )


def test_undefined_evaluators_stand_at_the_end_without_ranks():
    scores, truth = judges()
    scores.loc[scores["evaluator"] == "good", "score"] = 3.0
    frame = ranked((scores, truth)).frame
    last = frame.iloc[-1]
    assert (last["evaluator"], last["rank"], last["rank_range"], last["verdict"]) == ("good", "", "", "")
    assert frame["rank_high"].max() == 4
    assert frame["verdict"].iloc[0] == "best"


def test_costs_stand_in_the_same_row():
    costs = pd.DataFrame(
        {
            "evaluator": ["weak", "good"],
            "unread": [0.5, 0.0],
            "unread_first": [0.25, np.nan],
            "unread_second": [0.75, np.nan],
            "usd_per_text": [0.01, 0.02],
            "seconds_per_text": [1.0, 2.0],
            "tokens_per_text": [100.0, 200.0],
        }
    )
    sheet = ranking(me.correlate(*judges()), costs=costs)
    rows = sheet.frame.set_index("evaluator")
    assert rows.loc["weak", "usd_per_text"] == 0.01
    assert np.isnan(rows.loc["Random", "usd_per_text"])
    assert [c.name for c in sheet.columns][-6:] == list(costs.columns[1:])
    once = ranking(me.correlate(*judges()), costs=costs.assign(unread_first=np.nan, unread_second=np.nan))
    assert [c.name for c in once.columns][-4:] == ["unread", *costs.columns[4:]]
    assert "usd_per_text" not in ranking(me.correlate(*judges()), costs=costs[:0]).frame


def test_equals_share_a_rank_and_what_is_undefined_has_none():
    scores, truth = judges()
    good = scores[scores["evaluator"] == "good"]
    same, constant = good.assign(evaluator="same"), good.assign(evaluator="constant", score=1.0)
    result = me.correlate(pd.concat([constant, scores, same]), truth, levels=["dataset"])
    frame = ranking(result).frame.set_index("evaluator")
    assert frame.loc["good", "estimate"] == frame.loc["same", "estimate"]
    assert frame.loc["good", "rank"] == frame.loc["same", "rank"]
    assert frame.loc["constant", "rank"] == ""
    assert sorted(map(int, frame["rank"].drop("constant"))) != [1, 2, 3, 4, 5, 6]


def by_generator(generators):
    rng = np.random.default_rng(0)
    index = pd.MultiIndex.from_product([range(20), range(2), range(generators)])
    unit = index.to_frame(index=False, name=["user_id", "item_id", "generator"])
    rating = unit["generator"] / 2 + rng.normal(size=len(unit))
    truth = unit.assign(aspect="fit", rating=rating)
    score = unit["generator"] / 2 + rng.normal(size=len(unit))
    options = {"levels": ["generator"], "coefficients": ["pearson"], "bootstrap": {"resamples": 400}}
    return me.correlate(unit.assign(aspect="fit", evaluator="judge", score=score), truth, **options)


def test_at_generator_level_the_corrected_estimate_has_the_interval():
    result = by_generator(6)
    sheet = ranking(result)
    columns = {c.name: c for c in sheet.columns}
    assert (columns["estimate"].low, columns["corrected"].low) == ("", "ci_low")
    row = sheet.frame.iloc[0]
    assert row["ci_low"] < row["corrected"] < row["ci_high"]
    assert any("Corrected: the correlation of the means over very many users" in n for n in sheet.notes)
    assert not any("No interval" in n for n in sheet.notes)


def test_without_an_interval_at_generator_level_the_reason_is_told():
    result = by_generator(4)
    assert result.policy["no_interval"] == {"few_generators": {"judge": ["fit"]}}
    frame = result.frame
    assert frame["estimate"].notna().all()
    assert frame[["corrected", "ci_low", "ci_high"]].isna().all(axis=None)
    told = "No interval at generator level where there are fewer than 5 generators: judge (fit)."
    assert told in ranking(result).notes
    assert told in policy_sentences(result.policy)


def test_an_evaluator_of_few_units_takes_none_from_the_others_and_is_compared_with_none():
    rng, names = np.random.default_rng(8), {"a": 1, "b": 3, "few": 1}
    at = np.arange(400)
    truth = pd.DataFrame({"user_id": at % 20, "item_id": at, "generator": "g", "aspect": "clear"}).astype(str)
    truth["rating"] = rng.integers(1, 6, 400).astype(float)
    noise = {name: truth["rating"] + sd * rng.normal(size=400) for name, sd in names.items()}
    noise["few"] = truth["rating"]
    frames = [truth.drop(columns="rating").assign(evaluator=n, score=v) for n, v in noise.items()]
    scores = pd.concat([*frames[:2], frames[2][:15]])
    how = {"level": "dataset", "coefficient": "pearson"}
    result = me.correlate(scores, truth, levels=["dataset"], coefficients=["pearson"])
    assert result.frame.set_index("evaluator")["n_units"].to_dict() == {"a": 400, "b": 400, "few": 15}
    assert "few has scores for 15 of 400 ratings, below 5%" in " ".join(policy_sentences(result.policy))
    sheet = ranking(result, tests=me.compare(scores, truth, **how, permutations=1000))
    rows = sheet.frame.set_index("evaluator")
    assert rows["rank_range"].to_dict() == {"a": "1", "b": "2", "few": ""}
    assert rows.loc["few", "verdict"] == "not compared"
    assert rows["rank"].to_dict() == {"a": "1", "b": "2", "few": ""}  # though its estimate is the highest
    (table,) = standings(correlation_board(result)).tables
    marked = {table.frame["evaluator"][i]: mark for (i, _), mark in table.marks.items()}
    assert marked == {"a": "best", "b": "second"}
    enough = pd.concat([*frames[:2], frames[2][:20]])
    assert (me.correlate(enough, truth, levels=["dataset"]).frame["n_units"] == 20).all()
