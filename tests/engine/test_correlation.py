from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import metaeval as me
from metaeval.base.errors import DataError, MetaevalError
from metaeval.engine.correlation import Correlation
from tests.examples import examples
from tests.stats import naive

LEVELS = ("dataset", "user", "pair", "item", "generator")
GROUPS = {"dataset": [], "user": ["user_id"], "pair": ["user_id", "item_id"], "item": ["item_id"]}
KEYS = ["user_id", "item_id", "generator"]


def study(seed=0, users=5, items=3, generators=4, aspects=("clear", "true"), kind="likert"):
    """Return (scores of two evaluators, truth), units in random order, some answers and scores missing."""
    rng = np.random.default_rng(seed)
    units = pd.DataFrame(
        [(f"u{u}", f"i{i}", f"g{g}") for u in range(users) for i in range(items) for g in range(generators)],
        columns=KEYS,
    )
    units = units.sample(frac=0.9, random_state=seed)  # ragged groups

    def values(n):
        return {
            "likert": lambda: rng.integers(1, 6, n).astype(float),
            "thirds": lambda: rng.integers(3, 16, n) / 3,
            "continuous": lambda: rng.normal(size=n),
            "offset": lambda: 1e9 + rng.integers(0, 3, n),
            "constant": lambda: np.where(rng.random(n) < 0.9, 2.0, 3.0),
        }[kind]()

    truth = pd.concat([units.assign(aspect=a, rating=values(len(units))) for a in aspects])
    scores = pd.concat(
        [units.assign(evaluator=e, aspect=a, score=values(len(units))) for e in ("x", "y") for a in aspects]
    )
    truth.loc[rng.random(len(truth)) < 0.1, "rating"] = np.nan
    scores = scores[rng.random(len(scores)) > 0.1]
    scores.loc[rng.random(len(scores)) < 0.1, "score"] = np.nan
    return scores.sample(frac=1, random_state=seed), truth.sample(frac=1, random_state=seed + 1)


def expected(scores, truth, evaluator, aspect, level, coefficient, missing, undefined):
    """Return estimate, units, groups, undefined groups and missing scores, in the obvious way."""
    t = truth[truth["aspect"] == aspect].set_index(KEYS)["rating"]
    t = t.dropna() if missing["truth"] == "drop" else t.fillna(missing["truth"])
    s = scores[(scores["aspect"] == aspect) & (scores["evaluator"] == evaluator)].set_index(KEYS)["score"]
    s = s.reindex(t.index)
    n_missing = int(s.isna().sum())
    frame = pd.DataFrame({"x": s, "y": t})
    frame = frame.dropna() if missing["score"] == "drop" else frame.fillna({"x": missing["score"]})
    frame = frame.reset_index()
    if level == "generator":
        means = frame.groupby("generator")[["x", "y"]].mean()
        r = naive.coefficient(means["x"], means["y"], coefficient)
        return 0.0 if undefined == "zero" and np.isnan(r) else r, len(frame), len(means), n_missing
    groups = [g for _, g in frame.groupby(GROUPS[level])] if GROUPS[level] else [frame]
    rs = np.array([naive.coefficient(g["x"], g["y"], coefficient) for g in groups])
    used = np.nan_to_num(rs) if undefined == "zero" else rs[~np.isnan(rs)]
    return used.mean() if len(used) else np.nan, len(frame), len(groups), n_missing


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["likert", "thirds", "continuous", "offset", "constant"])
@pytest.mark.parametrize("undefined", ["skip", "zero"])
@pytest.mark.parametrize(
    ("seed", "missing"), [(0, {"truth": 3, "score": 0}), (1, {"truth": "drop", "score": "drop"})]
)
def test_equals_the_naive_path(kind, undefined, seed, missing):
    scores, truth = study(seed, kind=kind)
    result = me.correlate(
        scores, truth, levels=LEVELS, missing=missing, undefined_groups=undefined, units="own"
    )
    assert len(result) == 2 * 3 * len(LEVELS) * 3
    for row in result:
        if row.aspect == "average" or (row.level == "generator" and kind == "thirds"):
            continue  # a pandas mean breaks ties of thirds; see below
        cell = (row.evaluator, row.aspect, row.level, row.coefficient)
        estimate, n_units, n_groups, n_missing = expected(scores, truth, *cell, missing, undefined)
        assert naive.same(row.estimate, estimate), cell
        assert (row.n_units, row.n_groups, row.n_missing) == (n_units, n_groups, n_missing), cell


def test_columns_are_the_contract():
    result = me.correlate(*study())
    assert ",".join(result.frame.columns) == (
        "evaluator,aspect,level,coefficient,estimate,ci_low,ci_high,n_units,n_groups,n_undefined,n_missing,"
        "corrected"
    )
    assert isinstance(next(iter(result)), Correlation)
    assert len(result) == 2 * 3 * 3 * 3


def test_average_is_the_mean_over_aspects():
    frame = me.correlate(*study()).frame.set_index(["aspect", "evaluator", "level", "coefficient"])
    mean = (frame.loc["clear"] + frame.loc["true"]) / 2
    pd.testing.assert_series_equal(frame.loc["average"]["estimate"], mean["estimate"])
    pd.testing.assert_series_equal(
        frame.loc["average"]["n_units"], (2 * mean["n_units"]).astype("int64"), check_dtype=False
    )


def test_common_units_are_those_that_all_evaluators_scored():
    scores, truth = study(3)
    common = me.correlate(scores, truth, levels=["dataset"]).frame
    answered = truth.dropna().set_index([*KEYS, "aspect"]).index
    for aspect in ("clear", "true"):
        sets = [
            set(g.set_index([*KEYS, "aspect"]).index)
            for _, g in scores[scores["aspect"] == aspect].dropna().groupby("evaluator")
        ]
        n = len(set.intersection(*sets) & set(answered))
        assert (common.loc[common["aspect"] == aspect, "n_units"] == n).all()
    only = me.correlate(scores[scores["evaluator"] == "x"], truth, levels=["dataset"], units="own").frame
    own = me.correlate(scores, truth, levels=["dataset"], units="own").frame
    pd.testing.assert_frame_equal(own[own["evaluator"] == "x"].reset_index(drop=True), only)
    assert own["n_units"].max() > common["n_units"].max()


def test_examples_are_never_filled_and_narrow_down_all_evaluators():
    scores, truth = study(4)
    scores = scores.assign(status=np.where(scores["score"].isna(), "refused", "ok"))
    shown = (scores["evaluator"] == "x") & (scores["user_id"] == "u0")
    scores.loc[shown, ["status", "score"]] = ["example", np.nan]
    frame = me.correlate(scores, truth, levels=["dataset"], missing={"truth": 3, "score": 0}).frame
    users = truth[(truth["aspect"] == "clear") & (truth["user_id"] != "u0")]
    clear = frame[frame["aspect"] == "clear"].set_index("evaluator")
    lacking = truth[(truth["aspect"] == "clear") & (truth["user_id"] == "u0")]
    unscored = len(lacking) - int(shown[scores["aspect"] == "clear"].sum())
    assert (clear["n_units"] == len(users) + unscored).all()


def test_a_score_without_status_ok_is_missing():
    scores, truth = study(5)
    scores = scores.assign(status="ok", score=1.0)
    scores.iloc[0, scores.columns.get_loc("status")] = "unparsed"
    plain = me.correlate(scores.drop(columns="status"), truth, units="own").frame
    counted = me.correlate(scores, truth, units="own").frame
    assert counted["n_missing"].sum() > plain["n_missing"].sum()


def test_an_evaluator_without_scores_is_nan_and_narrows_nothing_down():
    scores, truth = study(6)
    broken = scores[scores["evaluator"] == "x"].assign(evaluator="broken", score=np.nan)
    with_broken = me.correlate(pd.concat([scores, broken]), truth).frame
    rows = with_broken["evaluator"] == "broken"
    assert with_broken.loc[rows, "estimate"].isna().all()
    assert (with_broken.loc[rows, "n_units"] == 0).all()
    assert (with_broken.loc[rows, "n_missing"] > 0).all()
    pd.testing.assert_frame_equal(
        with_broken[~rows].reset_index(drop=True), me.correlate(scores, truth).frame
    )


def test_no_common_unit_is_said():
    scores, truth = study(7)
    left = scores[(scores["evaluator"] == "x") & (scores["user_id"] == "u0")]
    right = scores[(scores["evaluator"] == "y") & (scores["user_id"] != "u0")]
    with pytest.raises(DataError, match="units: own"):
        me.correlate(pd.concat([left, right]), truth)


def test_a_score_without_aspect_holds_for_all():
    scores, truth = study(9)
    one = scores[scores["aspect"] == "clear"]
    both = pd.concat([one, one.assign(aspect="true")])
    expected_frame = me.correlate(both, truth).frame
    for blank in (one.assign(aspect=""), one.assign(aspect=None), one.drop(columns="aspect")):
        pd.testing.assert_frame_equal(me.correlate(blank, truth).frame, expected_frame)


@given(st.integers(0, 2**32 - 1), st.sampled_from(["likert", "thirds", "continuous"]))
@settings(max_examples=examples(25))
def test_splitting_the_users_and_merging_gives_the_same(seed, kind):
    """User and pair levels of the whole are the means of the halves, weighted by their defined groups."""
    scores, truth = study(seed % 10**6, users=6, kind=kind)
    whole = me.correlate(scores, truth, units="own", levels=["user", "pair"]).frame
    halves = []
    for users in (["u0", "u1", "u2"], ["u3", "u4", "u5"]):
        s, t = (f[f["user_id"].isin(users)] for f in (scores, truth))
        halves.append(me.correlate(s, t, units="own", levels=["user", "pair"]).frame)
    index = ["evaluator", "aspect", "level", "coefficient"]
    whole, *halves = (f[f["aspect"] != "average"].set_index(index).sort_index() for f in (whole, *halves))
    defined = [h["n_groups"] - h["n_undefined"] for h in halves]
    total = sum(h["estimate"].fillna(0) * d for h, d in zip(halves, defined, strict=True))
    merged = total / (defined[0] + defined[1])
    np.testing.assert_allclose(merged, whole["estimate"], rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda s, t: (s.drop(columns="score").assign(scor=1), t), "no column 'score'; did you mean 'scor'"),
        (lambda s, t: (s, t.drop(columns="rating")), "the truth has no column 'rating'"),
        (lambda s, t: (s.drop(columns="user_id"), t), "the scores have no column 'user_id'"),
        (lambda s, t: (pd.concat([s, s.head(1)]), t), "the scores have more than one row for"),
        (lambda s, t: (s, pd.concat([t, t.head(1)])), "the truth has more than one row for"),
        (lambda s, t: (s.assign(score=np.inf), t), "infinite"),
        (lambda s, t: (s, t.assign(rating=-np.inf)), "infinite"),
        (lambda s, t: (s.assign(score="good"), t), "must hold numbers"),
        (lambda s, t: (s.assign(user_id="nobody"), t), "no user_id of the scores is in the truth"),
        (lambda s, t: (s.assign(aspect="cleer"), t), "did you mean 'clear'"),
        (lambda s, t: (s.head(0), t), "the scores are empty"),
        (lambda s, t: (s, t.replace("true", "average")), "no aspect may be called 'average'"),
    ],
)
def test_unusable_frames_are_said(change, message):
    with pytest.raises(DataError, match=message):
        me.correlate(*change(*study()))


@pytest.mark.parametrize("dtype", ["Int64", "float64", "object", "str", "string", "category"])
@pytest.mark.parametrize("which", ["scores", "truth"])
def test_a_row_without_a_key_is_refused_with_its_number_wherever_it_comes_from(
    dtype: str, which: str, tmp_path: Path
) -> None:
    frames = dict(zip(("scores", "truth"), study(), strict=True))
    for name, frame in frames.items():
        numbers = frame["user_id"].str[1:].astype("int64").reset_index(drop=True)
        keys = numbers.astype("str" if dtype == "category" else dtype).astype(dtype)
        keys[5] = keys[5] if name != which else None if dtype == "object" else np.nan
        frames[name] = frame.assign(user_id=keys.array)
        frames[name].to_parquet(tmp_path / f"{name}.parquet", index=False)
    files = str(tmp_path / "scores.parquet"), str(tmp_path / "truth.parquet")
    given = [
        (frames.values(), "auto"),
        (files, "memory"),
        (files, "duckdb"),
        ((files[0], frames["truth"]), "duckdb"),
    ]
    said = f"column 'user_id' of the {which} is empty in row 5"
    for pair, engine in given:
        with pytest.raises(DataError, match=said):
            me.correlate(*pair, engine=engine, levels=["dataset"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"levels": ["users"]}, "did you mean 'user'"),
        ({"levels": "user"}, "must be a list"),
        ({"levels": []}, "must be a list"),
        ({"coefficients": ["pearsons"]}, "did you mean 'pearson'"),
        ({"coefficients": ["pearson", "pearson"]}, "twice"),
        ({"missing": {"truth": "skip"}}, "or 'drop'"),
        ({"missing": {"score": float("nan")}}, "finite"),
        ({"missing": {"scores": 0}}, "did you mean 'score'"),
        ({"undefined_groups": "none"}, "allowed: skip, zero"),
        ({"missing": "drop"}, "must be a mapping"),
        ({"bootstrap": 100}, "must be a mapping"),
        ({"units": "all"}, "allowed: common, own"),
    ],
)
def test_unusable_options_are_said(options, message):
    with pytest.raises(MetaevalError, match=message):
        me.correlate(*study(), **options)


def test_levels_are_those_whose_columns_are_there_and_whose_groups_may_have_several_units():
    scores, truth = study()

    def levels(*keys):
        rest = [k for k in KEYS if k not in keys]
        return me.correlate(
            scores.drop(columns=rest).drop_duplicates([*keys, "evaluator", "aspect"]),
            truth.drop(columns=rest).drop_duplicates([*keys, "aspect"]),
        ).policy["levels"]

    assert levels(*KEYS) == ["dataset", "user", "pair"]
    assert levels("user_id", "item_id") == ["dataset", "user", "item"]
    assert levels("item_id", "generator") == ["dataset", "item", "generator"]
    assert levels("item_id") == ["dataset"]


def test_one_aspect_has_no_average_and_needs_no_name():
    scores, truth = study(aspects=("clear",))
    named = me.correlate(scores, truth)
    assert set(named.frame["aspect"]) == {"clear"}
    frame = named.frame.assign(aspect="rating")
    for table in (scores, scores.drop(columns="aspect")):
        found = me.correlate(table, truth.drop(columns="aspect")).frame
        assert set(found["aspect"]) == ({"clear"} if "aspect" in table else {"rating"})
        pd.testing.assert_frame_equal(found.assign(aspect="rating"), frame)
    of_several, _ = study()
    with pytest.raises(
        DataError, match="the truth has no column 'aspect', and the scores are of clear, true"
    ):
        me.correlate(of_several, truth.drop(columns="aspect"))


def test_several_raters_are_to_be_averaged_and_the_message_says_how():
    scores, truth = study()
    several = pd.concat([truth.assign(rater="1"), truth.assign(rater="2", rating=truth["rating"] + 1)])
    one = several[several["aspect"] == "true"].drop(columns="aspect")
    with pytest.raises(DataError, match=r"truth.groupby\(\['user_id', 'item_id', 'generator'\], as_index"):
        me.correlate(scores[scores["aspect"] == "true"], one)
    with pytest.raises(
        DataError, match="several people rated a unit, average their ratings first: "
    ) as error:
        me.correlate(scores, several)
    advice = str(error.value).rpartition("first: ")[2]
    averaged = eval(advice, {"truth": several})  # noqa: S307 - what the message tells the reader to type
    expected = me.correlate(scores, truth.assign(rating=truth["rating"] + 0.5)).frame
    names = list(Correlation._fields[:4])
    rows = pd.MultiIndex.from_frame(expected[names])
    found = me.correlate(scores, averaged).frame.set_index(names).loc[rows]
    pd.testing.assert_frame_equal(found.reset_index(), expected)


def test_the_levels_of_slates_are_those_that_slates_have():
    data = me.load("data/slates")
    result = me.correlate(me.score(data, ["Recorded('sharp')"]), data.ratings, coefficients=["pearson"])
    assert result.policy["levels"] == ["dataset", "user", "duel"]
    assert result.frame["estimate"].iloc[0] > 0.5
