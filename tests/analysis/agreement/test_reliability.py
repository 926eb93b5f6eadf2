"""Reliabilities and corrected correlations against those that were planted."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import pearsonr

from metaeval.analysis.agreement.reliability import MadeOf, reliability
from metaeval.base.records import ScoreTable
from metaeval.engine.alignment.policy import Policy
from metaeval.engine.alignment.prepared import prepare
from metaeval.stats.agreement.raters import intraclass

ASPECTS = ("clear", "fitting")
N = 6000


def planted(seed=0, of_annotator=0.5, of_judge=0.8, rho=0.6):
    """Make true values of annotators and judges that correlate with rho, and ratings of these reliabilities.

    Annotator 2 rates two points higher throughout. The users' own ratings are the annotators' true values.
    """
    rng = np.random.default_rng(seed)
    keys = {"item_id": np.arange(N).astype(str), "generator": "g"}
    raters, scores, truths = [], [], []
    for aspect in ASPECTS:
        true = rng.normal(size=N)
        judged = rho * true + np.sqrt(1 - rho**2) * rng.normal(size=N)
        base = {**keys, "aspect": aspect}

        def noisy(value, reliability):
            return value + rng.normal(0, np.sqrt(1 / reliability - 1), N)

        for rater, offset in (("1", 0), ("2", 2), ("3", 0)):
            rating = offset + noisy(true, of_annotator)
            raters.append(pd.DataFrame({**base, "rater": rater, "rating": rating}))
            scores.append(pd.DataFrame({**base, "evaluator": f"A{rater}", "score": rating}))
        scores.append(
            pd.DataFrame(
                {**base, "evaluator": "M12", "score": (scores[-3]["score"] + scores[-2]["score"]) / 2}
            )
        )
        for replicate in range(3):
            name = f"judge {replicate}"
            scores.append(
                pd.DataFrame({**base, "evaluator": name, "score": replicate + noisy(judged, of_judge)})
            )
        scores.append(pd.DataFrame({**base, "evaluator": "other", "score": noisy(judged, of_judge)}))
        truths.append(pd.DataFrame({**base, "rating": judged}))
    signatures = {
        f"judge {r}": {"spec": f"Judge('m', replicate={r})", "model": "m", "replicate": r} for r in range(3)
    }
    signatures["other"] = {"spec": "Judge('n')", "model": "n", "replicate": 0}
    table = ScoreTable(pd.concat(scores, ignore_index=True), signatures)
    return table, pd.concat(truths, ignore_index=True), pd.concat(raters, ignore_index=True)


MADE_OF = {f"A{r}": MadeOf(frozenset({r}), mean=True) for r in "123"}
MADE_OF["M12"] = MadeOf(frozenset({"1", "2"}), mean=True)


def sheets(table, truth, raters, **options):
    data = prepare(table, truth, Policy.of(["item"], ["kendall"], None, "skip", "common"))
    return {s.name: s for s in reliability(data, table, truth, raters, **options)}


def test_planted_reliabilities_are_found() -> None:
    table, truth, raters = planted()
    found = sheets(table, truth, raters, made_of=MADE_OF)
    people = found["annotators"].frame.set_index("aspect")
    assert people.loc["average", "icc3"] == pytest.approx(0.5, abs=0.02)
    assert people.loc["average", "icc3k"] == pytest.approx(3 * 0.5 / 2, abs=0.02)  # Spearman and Brown
    assert people.loc["average", "icc2"] < 0.4  # one of them rates higher
    assert (people["n_units"] == N).all()
    retest = found["retest"].frame.iloc[0]
    assert retest["n_replicates"] == 3
    assert retest["replicates"] == "judge 0; judge 1; judge 2"
    assert retest["correlation"] == pytest.approx(0.8, abs=0.02)
    assert retest["icc2"] < 0.7
    assert len(found["retest"].frame) == 1


def test_what_noise_takes_off_is_given_back() -> None:
    table, truth, raters = planted()
    frame = sheets(table, truth, raters, made_of=MADE_OF)["attenuation"].frame.set_index("evaluator")
    # The truth here has no noise: people correlate with it by rho, judges by one, once corrected.
    for name, r, own in (("A1", 0.6, 0.5), ("M12", 0.6, 2 * 0.5 / 1.5), ("judge 1", 1.0, 0.8)):
        assert frame.loc[name, "reliability"] == pytest.approx(own, abs=0.02)
        assert frame.loc[name, "correlation"] == pytest.approx(r * np.sqrt(own), abs=0.03)
        assert frame.loc[name, "corrected"] == pytest.approx(r, abs=0.03)
    assert "other" not in frame.index


def test_the_truth_is_corrected_for_too_where_it_is_a_mean_of_annotators() -> None:
    table, _, raters = planted()
    of_two = raters[raters["rater"].isin(["1", "2"])]
    truth = of_two.groupby(["item_id", "generator", "aspect"], sort=False)["rating"].mean().reset_index()
    found = sheets(
        table,
        truth,
        raters,
        made_of=MADE_OF,
        truth_made_of=MADE_OF["M12"],
        truth_name="T",
    )["attenuation"]
    frame = found.frame.set_index("evaluator")
    assert frame.loc["other", "truth_reliability"] == pytest.approx(2 * 0.5 / 1.5, abs=0.02)
    assert np.isnan(frame.loc["other", "reliability"])
    assert frame.loc["other", "corrected"] == pytest.approx(0.6 * np.sqrt(0.8), abs=0.03)
    assert frame.loc["judge 0", "corrected"] == pytest.approx(0.6, abs=0.03)
    assert frame.loc["A3", "corrected"] == pytest.approx(1, abs=0.04)
    # Their errors are in the truth as well.
    assert frame.loc[["A1", "M12"], "corrected"].isna().all()
    text = " ".join(found.notes)
    assert "shares their errors" in text
    assert "A dash means" in text


def test_a_truth_of_unknown_reliability_is_warned_of() -> None:
    table, truth, raters = planted()
    found = sheets(table, truth, raters, made_of=MADE_OF)["attenuation"]
    assert "The reliability of the truth User() is unknown (each user rated once)" in " ".join(found.notes)
    median = MadeOf(frozenset("12"), mean=False)
    found = sheets(table, truth, raters, made_of=MADE_OF, truth_made_of=median, truth_name="Median(…)")
    assert "truth Median(…) is unknown, so" in " ".join(found["attenuation"].notes)


def test_a_reliability_below_zero_leaves_the_other_aspects() -> None:
    table, truth, raters = planted(seed=2)
    wrong = raters.copy()
    clear = (wrong["aspect"] == "clear") & (wrong["rater"] != "1")
    wrong.loc[clear, "rating"] *= -1
    two = wrong[wrong["rater"] != "3"]
    found = sheets(table, truth, two, made_of=MADE_OF)["attenuation"]
    row = found.frame.set_index("evaluator").loc["A1"]
    assert np.isnan(row["corrected"])
    assert np.isnan(row["corrected: clear"])
    assert not np.isnan(row["corrected: fitting"])
    assert "Corrected, fitting" in [c.title for c in found.columns]
    assert "not above zero (clear)" in " ".join(found.notes)


def test_a_corrected_value_above_one_is_shown_and_noted() -> None:
    table, truth, raters = planted()
    mean = raters.groupby(["item_id", "generator", "aspect"], sort=False)["rating"].mean().reset_index()
    found = sheets(table, mean, raters, made_of=MADE_OF)[
        "attenuation"
    ]  # not said that the truth is made of them
    assert found.frame.set_index("evaluator").loc["A1", "corrected"] > 1
    assert "above 100" in " ".join(found.notes)
    assert truth is not mean


def test_missing_scores_and_ratings_are_left_out() -> None:
    table, truth, raters = planted()
    frame = table.frame.copy()
    frame.loc[(frame["evaluator"] == "judge 1") & (frame.index % 3 == 0), "score"] = np.nan
    thin = raters[~((raters["rater"] == "2") & (raters.index % 2 == 0))]
    data = prepare(table, truth, Policy.of(["dataset"], ["pearson"], {"score": 0}, "skip", "common"))
    found = {s.name: s for s in reliability(data, ScoreTable(frame, table.signatures), truth, thin)}
    wide = frame[frame["aspect"] == "clear"].pivot_table(index="item_id", columns="evaluator", values="score")
    three = wide[["judge 0", "judge 1", "judge 2"]]
    pairs = [three[[f"judge {a}", f"judge {b}"]].dropna().to_numpy().T for a, b in ((0, 1), (0, 2), (1, 2))]
    retest = found["retest"].frame.iloc[0]
    assert retest["correlation: clear"] == pytest.approx(np.mean([pearsonr(*p).statistic for p in pairs]))
    assert retest["icc2: clear"] == pytest.approx(intraclass(three.to_numpy()).icc2)
    by_rater = thin[thin["aspect"] == "clear"].pivot_table(index="item_id", columns="rater", values="rating")
    people = found["annotators"].frame.set_index("aspect")
    assert people.loc["clear", "n_units"] == len(by_rater.dropna()) < N
    assert people.loc["clear", "icc2k"] == pytest.approx(intraclass(by_rater.to_numpy()).icc2k)


def test_nothing_known_is_nothing_said() -> None:
    table, truth, raters = planted()
    plain = ScoreTable(table.frame)
    assert sheets(plain, truth, None) == {}
    assert sheets(plain, truth, raters[raters["rater"] == "1"], made_of=MADE_OF) == {}
    assert list(sheets(plain, truth, raters)) == ["annotators"]
