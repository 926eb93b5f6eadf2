"""`me.correlate(..., bootstrap=...)`: options, what is resampled, and intervals against the slow way."""

import numpy as np
import pandas as pd
import pytest

import metaeval as me
from metaeval.base.errors import DataError, MetaevalError
from metaeval.base.records import AVERAGE
from metaeval.engine.sentences import interval_sentence
from metaeval.stats.resampling.weights import Resamples

KEYS = ["user_id", "item_id", "generator"]
CELL = ["evaluator", "aspect", "level", "coefficient"]
ENDS = ["ci_low", "ci_high"]


def frames(seed=0, users=12, items=3, generators=4, evaluators=("one", "two"), keys=tuple(KEYS)):
    """Return scores and truth of two aspects; users, scores and truth have effects of their own."""
    rng = np.random.default_rng(seed)
    user, item, generator = (
        a.ravel() for a in np.meshgrid(*map(np.arange, (users, items, generators)), indexing="ij")
    )
    n = len(user)
    unit = pd.DataFrame(
        {"user_id": [f"u{u}" for u in user], "item_id": item + 100, "generator": [f"g{g}" for g in generator]}
    )
    if "user_id" not in keys:
        unit["item_id"] = [f"{u}-{i}" for u, i in zip(user, item, strict=True)]
    unit = unit[list(keys)]
    truth, scores = [], []
    for aspect in ("clear", "true"):
        rating = np.clip(np.rint(3 + rng.normal(size=users)[user] + rng.normal(size=n)), 1, 5)
        truth.append(unit.assign(aspect=aspect, rating=rating))
        for e in evaluators:
            score = rating + rng.normal(size=users)[user] + 1.5 * rng.normal(size=n)
            scores.append(unit.assign(evaluator=e, aspect=aspect, score=score))
    return pd.concat(scores, ignore_index=True), pd.concat(truth, ignore_index=True)


def test_no_bootstrap_is_no_interval():
    frame = me.correlate(*frames()).frame
    assert frame[ENDS].isna().all(axis=None)


@pytest.mark.parametrize("method", ["percentile", "bca"])
def test_estimates_stay_and_lie_within_their_intervals(method):
    plain = me.correlate(*frames()).frame
    frame = me.correlate(*frames(), bootstrap={"resamples": 500, "method": method}).frame
    pd.testing.assert_frame_equal(frame.drop(columns=ENDS), plain.drop(columns=ENDS))
    assert (frame["ci_low"] < frame["estimate"]).all()
    assert (frame["estimate"] < frame["ci_high"]).all()
    assert frame[["ci_low", "ci_high"]].abs().max(axis=None) <= 1


@pytest.mark.slow
@pytest.mark.parametrize("cluster", ["user", "item"])
def test_intervals_are_those_of_frames_put_together_from_the_drawn_clusters(cluster):
    scores, truth = frames(users=8, items=6)
    n = 40
    options = {"resamples": n, "cluster": cluster, "confidence": 0.8, "seed": 3, "expand": False}
    levels = ["dataset", "user", "pair"]
    frame = me.correlate(scores, truth, levels=levels, bootstrap=options).frame.set_index(CELL)
    column = f"{cluster}_id"
    names = sorted(truth[column].unique(), key=str)  # clusters are numbered by name
    weights = np.concatenate(list(Resamples(len(names), n, 3).blocks()), axis=1).astype(int)
    replicates = []
    for drawn in weights.T:
        copies = [
            [
                # A cluster drawn twice is two clusters: its units come under another name.
                part.assign(**{c: part[c].astype(str) + f"/{k}" for c in KEYS if c != "generator"})
                if cluster == "user"
                else part.assign(item_id=part["item_id"].astype(str) + f"/{k}")
                for name, times in zip(names, drawn, strict=True)
                for k in range(times)
                for part in [given[given[column] == name]]
            ]
            for given in (scores, truth)
        ]
        found = me.correlate(*(pd.concat(c) for c in copies), levels=levels).frame
        replicates.append(found.set_index(CELL)["estimate"])
    values = pd.concat(replicates, axis=1).loc[frame.index]
    expected = np.quantile(values, [0.1, 0.9], axis=1)
    np.testing.assert_allclose(frame[ENDS].to_numpy().T, expected, rtol=0, atol=1e-9)


def test_the_average_is_resampled_with_its_aspects():
    """Aspects that go together leave an average as uncertain as they are; independent ones do not."""
    scores, truth = frames(users=30, evaluators=("one",))
    alike = [
        pd.concat([f[f["aspect"] == "clear"], f[f["aspect"] == "clear"].assign(aspect="true")])
        for f in (scores, truth)
    ]
    options = {"resamples": 2000}
    frame = me.correlate(*alike, bootstrap=options).frame
    ends = {a: frame[frame["aspect"] == a][ENDS].to_numpy() for a in ("clear", "true", AVERAGE)}
    np.testing.assert_array_equal(ends["clear"], ends["true"])
    np.testing.assert_allclose(ends["clear"], ends[AVERAGE], rtol=0, atol=1e-12)
    frame = me.correlate(scores, truth, bootstrap=options).frame.assign(
        width=lambda f: f["ci_high"] - f["ci_low"]
    )
    width = frame.groupby("aspect")["width"].mean()
    assert width[AVERAGE] < 0.85 * width[["clear", "true"]].mean()


def test_the_seed_decides_and_the_option_goes_before_the_argument():
    def ends(argument=0, **options):
        return me.correlate(*frames(), bootstrap={"resamples": 100, **options}, seed=argument).frame[ENDS]

    pd.testing.assert_frame_equal(ends(), ends())
    pd.testing.assert_frame_equal(ends(5), ends(seed=5))
    pd.testing.assert_frame_equal(ends(1, seed=5), ends(2, seed=5))
    assert (ends(0) != ends(1)).any(axis=None)


def test_few_clusters_widen_an_interval():
    def width(users, **options):
        data = frames(users=users, evaluators=("one",))
        frame = me.correlate(*data, levels=["user"], bootstrap={"resamples": 2000, **options}).frame
        return frame["ci_high"] - frame["ci_low"]

    few, many = (width(n) / width(n, expand=False) for n in (6, 60))
    assert (few > 1.1).all()
    assert (many < 1.1).all()


@pytest.mark.parametrize("method", ["percentile", "bca"])
def test_one_user_has_no_interval(method):
    frame = me.correlate(*frames(users=1), bootstrap={"resamples": 50, "method": method}).frame
    assert frame["estimate"].notna().any()
    assert frame[ENDS].isna().all(axis=None)


def test_without_users_items_are_resampled():
    data = frames(keys=("item_id", "generator"))
    result = me.correlate(*data, levels=["dataset", "item"], bootstrap={"resamples": 200})
    assert result.policy["bootstrap"]["cluster"] == "item"
    assert result.policy["bootstrap"]["n_clusters"] == 36
    same = me.correlate(*data, levels=["dataset", "item"], bootstrap={"resamples": 200, "cluster": "item"})
    pd.testing.assert_frame_equal(result.frame, same.frame)
    with pytest.raises(
        DataError, match="the data name no user to resample by; resample by item, generator or unit"
    ):
        me.correlate(*data, levels=["dataset"], bootstrap={"cluster": "user"})


def test_the_policy_says_what_was_resampled():
    policy = me.correlate(*frames(), bootstrap={"resamples": 20, "method": "bca"}, seed=4).policy
    assert policy["bootstrap"] == {
        "resamples": 20,
        "cluster": "user",
        "confidence": 0.95,
        "method": "bca",
        "seed": 4,
        "expand": True,
        "n_clusters": 12,
    }
    assert "bootstrap" not in me.correlate(*frames()).policy


def test_users_without_a_unit_are_not_resampled():
    """Half of the users did not answer; that says nothing of how certain the others' answers are."""
    scores, truth = frames(users=12)
    answered = truth["user_id"].isin([f"u{i}" for i in range(6)])
    silent = truth.assign(rating=truth["rating"].where(answered))
    few, all_ = (me.correlate(scores, t, bootstrap={"resamples": 2000}) for t in (truth[answered], silent))
    assert few.policy["bootstrap"]["n_clusters"] == 6
    width = [(r.frame["ci_high"] - r.frame["ci_low"]).mean() for r in (few, all_)]
    assert width[1] == pytest.approx(width[0], rel=0.05)


@pytest.mark.parametrize("method", ["percentile", "bca"])
def test_without_a_score_there_is_neither_value_nor_interval(method):
    scores, truth = frames(evaluators=("one",))
    bootstrap = {"resamples": 50, "method": method}
    frame = me.correlate(scores.assign(score=np.nan), truth, bootstrap=bootstrap).frame
    assert frame[["estimate", *ENDS]].isna().all(axis=None)


def test_resamples_that_are_not_kept_are_drawn_again(monkeypatch):
    expected = me.correlate(*frames(), bootstrap={"resamples": 3000}).frame
    monkeypatch.setattr("metaeval.stats.resampling.bootstrap._KEPT", 0)
    pd.testing.assert_frame_equal(me.correlate(*frames(), bootstrap={"resamples": 3000}).frame, expected)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (100, r"bootstrap must be a mapping, such as \{'resamples': 10000\}, not 100"),
        ({"resample": 100}, r"'resample' is not allowed \(allowed: resamples, .*did you mean.*'?resamples"),
        ({"cluster": "users"}, "no users to resample by; .*did you mean 'user'"),
        (
            {"cluster": ["user"]},
            "cluster is .'user'.; give what a key names, such as user, or unit",
        ),
        (
            {"method": "basic"},
            r"bootstrap method: 'basic' is not allowed \(allowed: percentile, bca, jackknife\)",
        ),
        ({"resamples": 0}, "bootstrap resamples is 0; give a whole number, 1 or more"),
        ({"resamples": 1e4}, "bootstrap resamples is 10000.0; give a whole number"),
        ({"resamples": True}, "bootstrap resamples is True"),
        ({"expand": 1}, "bootstrap expand is 1; give true or false"),
        ({"seed": -1}, "bootstrap seed is -1; give a whole number, 0 or more"),
        ({"confidence": 95}, "bootstrap confidence is 95; give a number between 0 and 1"),
        ({"confidence": "95%"}, "bootstrap confidence is '95%'"),
    ],
)
def test_options_are_checked(options, message):
    with pytest.raises(MetaevalError, match=message):
        me.correlate(*frames(), bootstrap=options)


def test_above_the_limit_the_jackknife_takes_the_place_of_resamples(monkeypatch):
    scores, truth = frames(users=60)
    options = {"levels": ["dataset", "user"], "coefficients": ["pearson", "kendall"]}
    drawn = me.correlate(scores, truth, **options, bootstrap={"resamples": 2000})
    assert drawn.policy["bootstrap"]["method"] == "percentile"
    monkeypatch.setattr("metaeval.stats.resampling.bootstrap.LIMIT", 50)
    again = me.correlate(scores, truth, **options, bootstrap={"method": "jackknife"})
    for method in ("percentile", "bca"):
        found = me.correlate(scores, truth, **options, bootstrap={"resamples": 2000, "method": method})
        assert found.policy["bootstrap"]["method"] == "jackknife"
        assert interval_sentence(found.policy["bootstrap"]) == (
            "Brackets hold 95 % intervals (jackknife; 2,000 resamples for values that are not smooth; "
            "60 users, seed 0)."
        )
        np.testing.assert_allclose(found.frame[ENDS], drawn.frame[ENDS], atol=0.05)
        pd.testing.assert_frame_equal(again.frame, found.frame)
