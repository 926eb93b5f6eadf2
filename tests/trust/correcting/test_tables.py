"""`metaeval correct`: the right answer or refusal for judges and labels of every sort."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from metaeval.base.errors import MetaevalError
from metaeval.cli import main
from metaeval.trust.correction import correcting_sheets, correction_of
from metaeval.trust.correction_samples import samples_by_cluster
from tests.study.test_report import payload_of
from tests.trust.recorded import run_recorded

USERS, PER = 60, 6


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fifth of the users rated; a judge a point too high, a person, noise; generator b is better by 1."""
    folder = tmp_path_factory.mktemp("correct")
    rng = np.random.default_rng(0)
    n = USERS * PER
    user = np.repeat(np.arange(USERS), PER)
    better = np.tile(np.arange(PER) % 2, USERS)
    wanted = np.clip(2.2 + 0.7 * rng.normal(size=USERS)[user] + better + 0.7 * rng.normal(size=n), 1, 5)
    keys = pd.DataFrame(
        {"item_id": [f"i{k}" for k in range(n)], "user_id": user, "generator": np.where(better, "b", "a")}
    )
    scores = {
        "biased": np.clip(wanted + 1 + 0.3 * rng.normal(size=n), 1, 6),
        "person": np.clip(wanted + 0.7 * rng.normal(size=n), 1, 5),
        "noise": rng.uniform(1, 5, n),
    }
    keys.assign(wanted=wanted, **scores).to_csv(folder / "all.csv", index=False)
    return run_recorded(folder, keys.assign(rating=wanted), scores, rows=user % 5 == 0, integer=False)


def answer(run: Path, *judges: str, **options: object) -> dict[str, object]:
    sheet = correction_of(run / "run", judges, **options)[0]  # type: ignore[arg-type]
    [row] = sheet.frame.to_dict("records")
    return row


def truth(run: Path) -> pd.DataFrame:
    return pd.read_csv(run / "all.csv")


@pytest.mark.parametrize("judge", ["biased", "person"])
def test_a_biased_judge_and_a_person_are_corrected(run: Path, judge: str) -> None:
    row = answer(run, judge)
    assert row["refused"] == ""
    assert row["ci_low"] < truth(run)["wanted"].mean() < row["ci_high"]
    assert str(row["verdict"]).startswith("people would have given")
    assert str(row["verdict"]).endswith("b is the best")
    if judge == "biased":
        assert row["judge"] > row["ci_high"]
        assert row["ci_high"] - row["ci_low"] < 0.7 * (row["labels_ci_high"] - row["labels_ci_low"])


def test_generators_and_their_difference_are_those_of_all_ratings(run: Path) -> None:
    _, groups, differences, ways = correction_of(run / "run", ["biased"])
    means = truth(run).groupby("generator")["wanted"].mean()
    of = groups.frame.set_index("group").sort_index()
    assert of["rank_range"].to_dict() == {"b": "1", "a": "2"}
    assert ((of["ci_low"] < means) & (means < of["ci_high"])).all()
    [pair] = differences.frame.to_dict("records")
    assert pair["ci_low"] < means["a"] - means["b"] < pair["ci_high"]
    assert pair["p_holm"] < 0.001
    assert ways.frame.loc[ways.frame["chosen"] == "yes", "way"].tolist() == ["PPI++"]


def test_noise_is_refused_and_left_out_beside_a_judge(run: Path) -> None:
    row = answer(run, "noise")
    assert row["refused"] == "uninformative"
    assert "tells nothing" in str(row["verdict"])
    assert row["estimate"] == row["labels"]
    beside, alone = answer(run, "biased", "noise"), answer(run, "biased")
    assert beside["estimate"] == pytest.approx(alone["estimate"])


def test_labels_of_easy_units_are_refused_unless_their_probabilities_are_known(
    run: Path, tmp_path: Path
) -> None:
    rng = np.random.default_rng(1)
    every = truth(run)
    p = np.where(every["biased"] > every["biased"].median(), 0.6, 0.06)
    drawn = every[rng.random(len(every)) < p]
    labels = drawn[["user_id", "item_id", "generator"]].assign(aspect="clear", rating=drawn["wanted"])
    labels.to_csv(tmp_path / "labels.csv", index=False)
    row = answer(run, "biased", labels=tmp_path / "labels.csv")
    assert row["refused"] == "unlike"
    assert "probability" in str(row["verdict"])
    labels.assign(probability=p[drawn.index]).to_csv(tmp_path / "labels.csv", index=False)
    row = answer(run, "biased", labels=tmp_path / "labels.csv")
    assert row["refused"] == ""
    assert row["ci_low"] < every["wanted"].mean() < row["ci_high"]
    labels.assign(probability=0).to_csv(tmp_path / "labels.csv", index=False)
    with pytest.raises(MetaevalError, match="a probability that is not above 0"):
        answer(run, "biased", labels=tmp_path / "labels.csv")


def test_a_share_has_rogan_and_gladens_way_beside_it(run: Path) -> None:
    *_, ways = correction_of(run / "run", ["person"], least=3)
    share = (truth(run)["wanted"] >= 3).mean()
    found = ways.frame.set_index("way").loc[["PPI++", "Rogan–Gladen"]]
    assert ((found["ci_low"] < share) & (share < found["ci_high"])).all()


def test_too_few_labels_and_all_of_them(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = "person"
    assert main(["correct", str(run / "run"), "--judge", name, "--labelled", "2"]) == 2
    assert "give a number of users from 6 to 11" in capsys.readouterr().err
    assert main(["correct", str(run / "run"), "--judge", name, "--labelled", "6", "--format", "json"]) == 0
    assert '"withheld"' in capsys.readouterr().out
    assert main(["correct", str(run / "run")]) == 2
    assert "--judge" in capsys.readouterr().err
    shown = [sheet["name"] for sheet in payload_of(run / "run" / "report.html")["sheets"]]
    assert {"correct", "correct-groups", "correct-differences", "correct-ways"} <= {*shown}


@pytest.mark.parametrize(
    ("judge", "topics", "refused"),
    [
        ("good", "some", ""),
        ("biased", "some", ""),
        ("noise", "some", "uninformative"),
        ("good", "easy", "unlike"),
        ("good", "two", "few"),
        ("good", "all", "complete"),
    ],
)
def test_ranking_measures_are_corrected_by_topic(judge: str, topics: str, refused: str) -> None:
    """Five systems on 90 topics; people labelled the items of some, the judge those of all."""
    rng = np.random.default_rng(3)
    systems = pd.DataFrame({"system": [f"s{k}" for k in range(5)], "quality": np.arange(5) / 10})
    ease = pd.DataFrame({"topic": [f"t{k}" for k in range(90)], "ease": rng.normal(0.3, 0.15, 90)})
    cells = systems.merge(ease, how="cross").assign(measure="nDCG@10")
    wanted = cells["quality"] + cells["ease"] + rng.normal(0, 0.1, len(cells))
    said = {
        "good": wanted + rng.normal(0, 0.03, len(cells)),
        "biased": wanted / 2 + 0.4 + rng.normal(0, 0.03, len(cells)),
        "noise": pd.Series(rng.uniform(0, 1, len(cells))),
    }
    labelled = {
        "some": cells["topic"].isin(ease["topic"][::5]),
        "easy": cells["ease"] > cells["ease"].quantile(0.8),
        "two": cells["topic"].isin(["t0", "t1"]),
        "all": cells["topic"].notna(),
    }[topics]
    people = cells.assign(evaluator="people", value=wanted)[labelled]
    values = pd.concat([people, cells.assign(evaluator=judge, value=said[judge])])
    sheets = correcting_sheets(samples_by_cluster(values, "people", []), alpha=0.05, seed=0)
    [row] = sheets[0].frame.to_dict("records")
    assert row["refused"] == refused
    if not refused:
        assert row["ci_low"] < wanted.mean() < row["ci_high"]
        assert row["ci_high"] - row["ci_low"] < 0.7 * (row["labels_ci_high"] - row["labels_ci_low"])
        assert str(row["verdict"]).endswith("s4 is the best")


def test_who_may_be_the_best_follows_from_the_tests_of_differences() -> None:
    """Three generators: Holm over 3 two-sided tests finds what Holm over 6 one-sided ones would not."""
    n, shifts = 40, {"a": 0.0, "b": -0.6, "c": -1.2}
    rng = np.random.default_rng(4)
    rows = [
        {"evaluator": rater, "measure": "m", "system": name, "topic": f"t{t}", "value": shift + noise}
        for t in range(n)
        for name, shift in shifts.items()
        for noise in [rng.normal()]
        for rater in (("people", "judge") if t < n // 2 else ("judge",))
    ]
    for row in (row for row in rows if row["evaluator"] == "judge"):
        row["value"] += 0.5 * rng.normal()
    [held] = samples_by_cluster(pd.DataFrame(rows), "people", ())
    sheets = {s.name: s for s in correcting_sheets([held], alpha=0.05, seed=0)}
    groups, pairs = sheets["correct-groups"].frame, sheets["correct-differences"].frame
    best = groups["group"][0]
    apart = pairs[(pairs["first"].eq(best) | pairs["second"].eq(best)) & (pairs["p_holm"] <= 0.05)]
    told = {*apart["first"], *apart["second"]} - {best}
    assert told == {"b", "c"}
    assert told == set(groups.loc[~groups["rank_range"].str.startswith("1"), "group"])
