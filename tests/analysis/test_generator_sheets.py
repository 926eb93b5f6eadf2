from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from metaeval.analysis.generator_estimates import estimates_sheet
from metaeval.analysis.generator_ranking import rank_generators
from metaeval.analysis.generator_sheets import best_evaluator, ranking_sheets, trusted
from metaeval.base.errors import MetaevalError
from metaeval.base.records import AVERAGE, Kind, ScoreTable
from metaeval.base.simulation import Simulation
from metaeval.cli import main
from metaeval.engine.alignment.policy import Policy
from metaeval.engine.alignment.prepared import prepare
from metaeval.engine.intervals import Bootstrap
from metaeval.stats.regression.prediction_powered import estimate
from metaeval.stats.resampling.weights import Resamples, expanded

KEYS = ["user_id", "item_id", "generator"]


def study(effects, *, n_users=30, n_items=4, noise=0.5, seed=0, aspects=("fit",), shown=1.0):
    """Ratings with effects of users and generators; users who rate high see the first generators seldom."""
    rng = np.random.default_rng(seed)
    names = [f"g{i}" for i in range(len(effects))]
    level = rng.normal(0, 1, n_users)
    rows = []
    for aspect in aspects:
        for u in range(n_users):
            for i in range(n_items):
                for g, name in enumerate(names):
                    rating = 3 + effects[g] + level[u] + rng.normal(0, noise)
                    rows.append((f"u{u}", f"i{i}", name, aspect, rating))
    truth = pd.DataFrame(rows, columns=[*KEYS, "aspect", "rating"])
    if shown < 1:
        high = truth["user_id"].map({f"u{u}": v > 0 for u, v in enumerate(level)})
        hidden = high & truth["generator"].isin(names[: len(names) // 2]) & (rng.random(len(truth)) > shown)
        truth = truth[~hidden].reset_index(drop=True)
    return truth


def scored(truth, **values):
    """Scores of evaluators, each a function of the ratings or an array of their length."""
    frames = [
        truth[[*KEYS, "aspect"]].assign(evaluator=name, score=np.asarray(value), status="ok")
        for name, value in values.items()
    ]
    frame = pd.concat(frames, ignore_index=True)
    frame.loc[frame["score"].isna(), "status"] = "missing"
    return frame[[c for c in frame.columns if c in (*truth.columns, "evaluator", "score", "status")]]


def ready(truth, scores, units="common", missing=None):
    return prepare(scores, truth, Policy.of(["dataset"], ["kendall"], missing, "skip", units))


def ranked(truth, scores=None, *, resamples=400, units="common", missing=None, **options):
    scores = scored(truth, same=truth["rating"]) if scores is None else scores
    data = ready(truth, scores, units, missing)
    return rank_generators(data, bootstrap=Bootstrap(resamples=resamples), **options)


def test_known_effects_are_recovered_though_users_see_different_generators():
    effects = np.array([0.6, 0.2, -0.2, -0.6])
    truth = study(effects, n_users=80, shown=0.2)
    found = ranked(truth)
    order = np.argsort(found.generators)
    mean = found.ratings.mean[0, order]
    assert mean - mean.mean() == pytest.approx(effects, abs=0.1)
    assert found.ratings.rank_low[0, order].tolist() == [1, 2, 3, 4]
    assert found.ratings.rank_high[0, order].tolist() == [1, 2, 3, 4]
    plain = truth.groupby("generator")["rating"].mean()
    assert plain["g0"] - plain["g2"] < 0.5  # 0.8 in truth: what the removal of users' effects is for


def rated_anew(data, effects, seed):
    """The same units with other ratings, of other users: quicker than to make and match frames again."""
    rng = np.random.default_rng(seed)
    user, generator = data.keys["user_id"], data.keys["generator"]
    level = rng.normal(0, 1, len(data.labels["user_id"]))
    truth = 3 + np.asarray(effects)[generator] + level[user] + rng.normal(0, 0.5, user.size)
    return replace(data, truth=truth[None])


@pytest.mark.slow
def test_equal_generators_share_a_rank_range():
    truth = study([0.5, 0.5, -0.5], n_users=25, n_items=2)
    data = ready(truth, scored(truth, same=truth["rating"]))
    apart = 0
    for seed in range(200):
        found = rank_generators(rated_anew(data, [0.5, 0.5, -0.5], seed), bootstrap=Bootstrap(resamples=400))
        low = found.ratings.rank_low[0]
        assert low[2] == 3
        apart += low[:2].tolist() != [1, 1]
    assert apart <= 20  # at most 5 % in each direction, as the third is surely worse

    truth = study([0.5, 0.0])
    twin = truth[truth["generator"] == "g0"].assign(generator="g9")
    found = ranked(pd.concat([truth, twin]))
    assert found.ratings.mean[0, 0] == found.ratings.mean[0, found.generators.index("g9")]
    assert found.ratings.rank_low[0].tolist() == [1, 3, 1]
    assert found.ratings.rank_high[0].tolist() == [2, 3, 2]
    assert found.ratings.p_better[0, 0, 2] == found.ratings.p_better[0, 2, 0] == 1


def test_the_truth_agrees_with_itself_and_not_with_its_reverse():
    truth = study([0.9, 0.6, 0.3, 0.0, -0.3], noise=0.2, aspects=("fit", "trust"))
    scores = scored(truth, same=truth["rating"], scaled=100 * truth["rating"] - 7, reversed=-truth["rating"])
    found = ranked(truth, scores)
    assert found.aspects == (AVERAGE, "fit", "trust")
    for compared in found.evaluators[:2]:
        assert len(compared.agreement) == 3
        for a in compared.agreement:
            assert a.no_interval is None
            assert list(a._replace(no_interval=1)) == pytest.approx(np.ones(len(a)))
    assert len(found.evaluators[2].agreement) == 3
    for a in found.evaluators[2].agreement:
        assert a.tau == pytest.approx(-1)
        assert a.weighted_tau == pytest.approx(-1)
        assert a.soft_pairwise_accuracy < 0.05
        assert not a.same_top
        assert not a.top_agreement
    assert found.evaluators[1].ranking.mean == pytest.approx(100 * found.ratings.mean - 7)


@pytest.mark.slow
def test_against_refitting_every_resample():
    rng = np.random.default_rng(3)
    truth = study([0.2, 0.1, 0.0], n_users=8, n_items=2, noise=1, aspects=("fit", "trust"))
    truth = truth[rng.random(len(truth)) < 0.8].reset_index(drop=True)
    judged = truth["rating"] + rng.normal(0, 1, len(truth))
    found = ranked(truth, scored(truth, judge=judged), resamples=25)

    def refitted(values, weights):
        """Mean over aspects of least squares on dummies, with rows and users repeated."""
        of_aspects = []
        for aspect in ("fit", "trust"):
            part = truth.assign(value=values)[truth["aspect"] == aspect]
            copies = [
                part[part["user_id"] == user].assign(copy=f"{user}-{k}")
                for user, times in weights.items()
                for k in range(int(times))
            ]
            drawn = pd.concat(copies)
            x = pd.concat([pd.get_dummies(drawn[c], dtype=float) for c in ("generator", "copy")], axis=1)
            beta = np.linalg.lstsq(x.to_numpy(), drawn["value"].to_numpy())[0][:3]
            of_aspects.append(beta - beta.mean() + drawn["value"].mean())
        return np.mean(of_aspects, axis=0)

    users = sorted(truth["user_id"].unique())
    weights = np.concatenate(list(Resamples(len(users), 25).blocks()), axis=1)
    ones = dict.fromkeys(users, 1)
    draws = {
        name: np.array([refitted(v, dict(zip(users, w, strict=True))) for w in weights.T])
        for name, v in (("truth", truth["rating"]), ("judge", judged))
    }
    compared = found.evaluators[0]
    tail = (1 - expanded(0.95, len(users))) / 2
    for name, ranking, values in (
        ("truth", found.ratings, truth["rating"]),
        ("judge", compared.ranking, judged),
    ):
        assert ranking.mean[0] == pytest.approx(refitted(values, ones))
        assert ranking.low[0] == pytest.approx(np.quantile(draws[name], tail, axis=0))
        assert ranking.high[0] == pytest.approx(np.quantile(draws[name], 1 - tail, axis=0))
        k = (draws[name][:, 0] <= draws[name][:, 2]).sum()
        assert ranking.p_better[0, 0, 2] == (k + 1) / 26
    same_top = (draws["truth"].argmax(axis=1) == draws["judge"].argmax(axis=1)).mean()
    assert compared.agreement[0].top_agreement == pytest.approx(same_top)
    assert all(a.no_interval for a in compared.agreement)  # 3 generators, 8 users
    assert all(np.isnan(a.tau_ci_low) for a in compared.agreement)


def test_ratings_beside_an_evaluator_are_of_its_units():
    truth = study([0.5, 0.0, -0.5], n_users=10)
    half = truth["rating"].where(truth["item_id"].isin(["i0", "i1"]))
    found = ranked(truth, scored(truth, all=truth["rating"], half=half), units="own")
    some = truth[half.notna()]
    assert found.ratings.n_units[0].tolist() == [40, 40, 40]
    assert found.evaluators[1].ratings.n_units[0].tolist() == [20, 20, 20]
    assert found.evaluators[1].ratings.mean == pytest.approx(ranked(some).ratings.mean)
    common = ranked(truth, scored(truth, all=truth["rating"], half=half))
    assert common.ratings.mean == pytest.approx(ranked(some).ratings.mean)
    filled = ranked(truth, scored(truth, half=half), missing={"score": 0})
    assert filled.evaluators[0].ranking.n_units[0].tolist() == [40, 40, 40]


def test_without_users_items_are_resampled_and_nothing_is_removed():
    truth = study([0.5, 0.0], n_users=1, n_items=20).drop(columns="user_id")
    scores = scored(truth.assign(user_id="u"), judge=truth["rating"]).drop(columns="user_id")
    data = ready(truth, scores)
    found = rank_generators(data, bootstrap=Bootstrap(resamples=200))
    assert (found.bootstrap.cluster, found.n_clusters) == ("item", 20)
    assert found.ratings.mean[0] == pytest.approx(truth.groupby("generator")["rating"].mean())
    notes = " ".join(ranking_sheets(found, data)[0].notes)
    assert "20 items" in notes
    assert "no users" in notes


def test_what_cannot_be_ranked():
    with pytest.raises(MetaevalError, match="name 1 generator, and a ranking needs two"):
        ranked(study([0.0]))
    with pytest.raises(MetaevalError, match=r"no aspect 'fiit'.*did you mean 'fit'"):
        ranked(study([0.0, 1.0]), aspects=["fiit"])


def test_sheets_are_in_order_and_say_what_was_done():
    truth = study([0.0, 0.5, -0.5], aspects=("fit", "trust"))
    truth.loc[0, "rating"] = np.nan
    scores = scored(truth, judge=truth["rating"].fillna(1), other=-truth["rating"].fillna(1))
    data = ready(truth, scores, missing={"truth": 3})
    found = rank_generators(data, bootstrap=Bootstrap(resamples=100))
    ratings, evaluators, agreement = ranking_sheets(found, data, simulated=Simulation(False, ("judge",)))
    assert ratings.frame["generator"].tolist() == ["g1", "g0", "g2"]
    assert [c.title for c in ratings.columns if c.low] == [AVERAGE, "fit", "trust"]
    assert "1 unanswered question is counted as 3." in ratings.notes
    assert "Student's t" in " ".join(ratings.notes)  # of which 100 resamples are enough for 6 pairs
    firsts = evaluators.frame.groupby(["evaluator", "aspect"])["generator"].first()
    assert [firsts["judge", a] for a in (AVERAGE, "fit", "trust")] == ["g1"] * 3
    assert firsts["other", AVERAGE] == "g2"
    assert evaluators.frame["rank"].tolist() == [1, 2, 3] * 6
    assert ratings.frame[f"{AVERAGE}_rank"].tolist() == [1, 2, 3]
    assert ratings.said.startswith(
        "By the users' ratings, of 3 generators, g1 is first on average over aspects ("
    )
    assert "first are g1 for fit and trust: of these leads " in ratings.said
    # It is shown where no other may be first.
    may = [rank.startswith("1–") for rank in ratings.frame[f"{AVERAGE}_rank_range"]]
    assert ("no lead over" in ratings.said.partition(";")[0]) == any(may)
    assert len(agreement.frame) == 6
    assert [bool(s.simulated) for s in (ratings, evaluators, agreement)] == [False, True, True]
    alone = ranking_sheets(rank_generators(data, aspects=["trust"], bootstrap=Bootstrap(resamples=100)), data)
    assert [s.frame.filter(like="fit").empty for s in alone] == [True] * 3
    assert "unanswered" not in " ".join(alone[0].notes)
    assert "g1 is first for trust (" in alone[0].said


def test_trusted_and_best():
    frame = pd.DataFrame({"evaluator": ["a", "b", "c"]})
    table = ScoreTable(frame, kinds={"a": Kind.BASELINE, "b": Kind.JUDGE, "c": Kind.ANNOTATOR})
    assert trusted(table) == ["b", "c"]
    assert trusted(table, ["c", "a", "c"]) == ["c", "a"]
    with pytest.raises(MetaevalError, match=r"no evaluator 'B' .*did you mean 'b'"):
        trusted(table, ["B"])
    with pytest.raises(MetaevalError, match="only baselines"):
        trusted(ScoreTable(frame[:1], kinds=table.kinds))
    rows = [
        ("a", AVERAGE, "user", "pearson", 0.9),
        ("b", AVERAGE, "dataset", "pearson", 0.1),
        ("c", AVERAGE, "dataset", "pearson", np.nan),
        ("a", AVERAGE, "dataset", "pearson", 0.3),
        ("b", "fit", "dataset", "pearson", 0.8),
        ("b", AVERAGE, "dataset", "kendall", 0.9),
    ]
    found = pd.DataFrame(rows, columns=["evaluator", "aspect", "level", "coefficient", "estimate"])
    assert best_evaluator(found, ["a", "b", "c"]) == "a"
    assert best_evaluator(found, ["c", "b"]) == "b"
    assert best_evaluator(found, ["a", "b"], "fit") == "b"
    assert best_evaluator(found, ["c"]) == "c"


@pytest.fixture
def partly_rated():
    """Ratings of 12 users of 40, two aspects, and a judge's scores of all units, one of them missing."""
    whole = study([0.5, 0.0, -0.5], n_users=40, aspects=("fit", "trust"))
    scores = whole["rating"] / 2 + np.random.default_rng(1).normal(0, 0.1, len(whole))
    scores[0] = np.nan
    rated = whole["user_id"].isin([f"u{i}" for i in range(12)])
    return whole, whole[rated].reset_index(drop=True), scored(whole, other=0 * scores, judge=scores)


def test_unrated_units_narrow_the_intervals(partly_rated):
    whole, truth, scores = partly_rated
    truth.loc[5, "rating"] = np.nan
    sheet = estimates_sheet(scores, truth, "judge", aspects=["fit"])
    assert sheet is not None
    frame = sheet.frame.set_index("generator").sort_index()
    joined = whole[whole["aspect"] == "fit"].merge(
        truth, how="left", on=[*KEYS, "aspect"], suffixes=("", "_known")
    )
    joined = joined.merge(scores[scores["evaluator"] == "judge"], on=[*KEYS, "aspect"]).dropna(subset="score")
    codes = [pd.factorize(joined[c], sort=True)[0] for c in ("generator", "user_id")]
    found = estimate(joined["rating_known"], joined["score"], codes[0], 3, codes[1], 40)
    assert frame["estimate"].to_numpy() == pytest.approx(found.estimate)
    assert frame["ci_high"].to_numpy() == pytest.approx(found.ci_high)
    assert frame["n_units"].tolist() == [159, 160, 160]
    assert frame["n_labelled"].sum() == 12 * 4 * 3 - 2  # one without a rating, one without a score
    width = (frame["ci_high"] - frame["ci_low"]) / (frame["classical_ci_high"] - frame["classical_ci_low"])
    assert (width < 0.8).all()
    assert "all_ratings" not in frame
    both = estimates_sheet(scores, truth, "judge", aspects=["fit", "trust"])
    assert both is not None
    assert both.frame["aspect"].unique().tolist() == [AVERAGE, "fit", "trust"]


def test_ratings_of_some_users_alone(partly_rated):
    whole, truth, scores = partly_rated
    assert estimates_sheet(scores, whole, "judge", aspects=["fit"]) is None
    sheet = estimates_sheet(scores, whole, "judge", aspects=["fit"], labelled=7, seed=2)
    assert sheet is not None
    assert (sheet.frame["n_labelled_users"] == 7).all()
    usable = whole[(whole["aspect"] == "fit") & (whole.index > 0)]  # the first has no score
    means = usable.groupby("generator")["rating"].mean()
    assert sheet.frame.set_index("generator")["all_ratings"].to_dict() == pytest.approx(means.to_dict())
    again = estimates_sheet(scores, whole, "judge", aspects=["fit"], labelled=7, seed=2)
    other = estimates_sheet(scores, whole, "judge", aspects=["fit"], labelled=7, seed=3)
    assert again is not None
    assert other is not None
    assert sheet.frame.equals(again.frame)
    assert not sheet.frame.equals(other.frame)
    for n in (1, 12):
        with pytest.raises(MetaevalError, match=r"from 2 to 11, as there are labels of 12 users"):
            estimates_sheet(scores, truth, "judge", aspects=["fit"], labelled=n)
    # Drawn are users who rated, not those whom nobody asked.
    few = estimates_sheet(scores, truth, "judge", aspects=["fit"], labelled=11)
    assert few is not None
    assert (few.frame["n_labelled_users"] == 11).all()


def test_too_few_generators_have_no_interval_and_the_sheet_says_why():
    truth = study([0.6, 0.3, 0.0, -0.3])
    data = ready(truth, scored(truth, judge=truth["rating"] + 1))
    found = rank_generators(data, bootstrap=Bootstrap(resamples=100))
    sheet = ranking_sheets(found, data)[2]
    assert sheet.frame["tau"].notna().all()
    assert sheet.frame[["tau_ci_low", "tau_corrected", "soft_ci_low"]].isna().all(axis=None)
    assert "No interval where there are fewer than 5 generators: judge." in sheet.notes


def test_generators_are_ranked_by_ratings_alone(tmp_path, capsys):
    units = [(u, i, g) for u in range(3) for i in range(2) for g in "ab"]
    rows = [f"u{u},i{i},{g},text {g}{i},{1 + i + (g == 'b')}" for u, i, g in units]
    (tmp_path / "t.csv").write_text("\n".join(["user_id,item_id,generator,explanation,rating", *rows]))
    study, run = str(tmp_path / "s" / "study.yaml"), str(tmp_path / "run")
    assert main(["init", str(tmp_path / "t.csv"), "--yes", "--out", str(tmp_path / "s")]) == 0
    assert main(["--quiet", "run", study, "--out", run]) == 0
    capsys.readouterr()
    assert main(["generators", run, "--resamples", "50", "--format", "md"]) == 0
    said = capsys.readouterr().out
    assert "Generators by the users' ratings" in said
    assert said.index("| b |") < said.index("| a |")
    assert "Random" not in said.partition("Generators by")[2]
