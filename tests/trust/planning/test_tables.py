"""`metaeval plan`: the order of labels, and the answer after some of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from metaeval.base.errors import MetaevalError
from metaeval.cli import main
from metaeval.trust.label_plan import plan_of
from tests.trust.recorded import run_recorded


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study of two generators, of which the first is better by a point, and a judge biased by one."""
    folder = tmp_path_factory.mktemp("plan")
    rng = np.random.default_rng(0)
    keys = pd.DataFrame({"user_id": [f"u{k // 8:02}" for k in range(480)], "item_id": range(480)})
    keys["generator"] = np.tile(["good", "bad"], 240)
    rating = np.clip(np.rint(rng.normal(3.5, 1, 480)) - (keys["generator"] == "bad"), 1, 5)
    score = np.clip(rating + np.where(keys["generator"] == "bad", 2, 0), 1, 5)
    return run_recorded(folder, keys.assign(rating=rating), {"a": score}, evaluators="{a: Recorded('a')}")


def test_a_biased_judge_is_corrected_and_half_of_the_labels_decide(run: Path) -> None:
    [sheet] = plan_of(run / "run", ("good", "bad"), judge="a")
    row = sheet.frame.iloc[0]
    assert row["verdict"] == "decided for these units: good is better than bad; stop labelling"
    assert row["n_labelled"] <= 240
    plan = pd.read_csv(run / "run" / "plan.csv")
    assert plan["order"].is_monotonic_increasing
    assert plan["probability"].between(0, 1, inclusive="neither").all()


def test_labels_count_in_the_order_of_the_plan(run: Path, tmp_path: Path) -> None:
    plan_of(run / "run", ("good", "bad"), judge="a")
    plan = pd.read_csv(run / "run" / "plan.csv", dtype=str)
    ratings = pd.read_csv(run / "data" / "ratings.csv", dtype=str)
    first = ratings.merge(plan.head(10)[["user_id", "item_id", "generator"]])
    first.to_csv(tmp_path / "few.csv", index=False)
    [sheet] = plan_of(run / "run", ("good", "bad"), judge="a", labels=tmp_path / "few.csv")
    assert str(sheet.frame["verdict"][0]).startswith("not decided: label in the order of the plan")


def test_another_plan_is_not_written_over_one_that_people_follow(run: Path, tmp_path: Path) -> None:
    plan_of(run / "run", ("good", "bad"), judge="a")
    before = (run / "run" / "plan.csv").read_bytes()
    with pytest.raises(MetaevalError, match="another question, judge or seed"):
        plan_of(run / "run", ("good", "bad"), judge="a", seed=1)
    assert (run / "run" / "plan.csv").read_bytes() == before
    plan_of(run / "run", ("good", "bad"), judge="a", seed=1, plan=tmp_path / "other.csv")
    assert (tmp_path / "other.csv").read_bytes() != before


def test_skipped_units_do_not_end_the_plan(run: Path, tmp_path: Path) -> None:
    plan_of(run / "run", ("good", "bad"), judge="a")
    plan = pd.read_csv(run / "run" / "plan.csv", dtype=str)
    ratings = pd.read_csv(run / "data" / "ratings.csv", dtype=str)
    most = plan[plan.index % 10 != 3][["user_id", "item_id", "generator"]]
    ratings.merge(most).to_csv(tmp_path / "most.csv", index=False)
    [sheet] = plan_of(run / "run", ("good", "bad"), judge="a", labels=tmp_path / "most.csv")
    assert str(sheet.frame["verdict"][0]).startswith("decided for these units: good is better")
    assert "units were skipped" in sheet.notes[2]


def test_labels_of_the_easy_units_alone_decide_nothing(run: Path, tmp_path: Path) -> None:
    plan_of(run / "run", ("good", "bad"), judge="a")
    plan = pd.read_csv(run / "run" / "plan.csv", dtype=str)
    easy = plan[plan["score"].astype(float) > plan["score"].astype(float).median()]
    ratings = pd.read_csv(run / "data" / "ratings.csv", dtype=str)
    ratings.merge(easy[["user_id", "item_id", "generator"]]).to_csv(tmp_path / "easy.csv", index=False)
    [sheet] = plan_of(run / "run", ("good", "bad"), judge="a", labels=tmp_path / "easy.csv")
    assert "units have no label; label them first" in sheet.frame["verdict"][0]


@pytest.mark.parametrize(
    ("noise", "said"),
    [
        (0.0, "decided for these units: on them, a is as good as a person"),
        (3.0, "decided for these units: on them, a is worse than a person"),
    ],
)
def test_whether_a_judge_replaces_a_person(run: Path, tmp_path: Path, noise: float, said: str) -> None:
    """Two people differ from the truth by as much; the judge does not, or by more."""
    rng = np.random.default_rng(1)
    scores = pd.read_csv(run / "data" / "scores.csv", dtype={"user_id": str, "item_id": str})
    around = scores["score"] + rng.normal(0, noise, len(scores))
    people = [
        scores[["user_id", "item_id", "generator", "aspect"]].assign(
            rater=rater, rating=np.clip(np.rint(around + rng.normal(0, 0.7, len(scores))), 1, 5)
        )
        for rater in ("x", "y", "z")
    ]
    pd.concat(people).to_csv(tmp_path / "labels.csv", index=False)
    where = {"labels": tmp_path / "labels.csv", "plan": tmp_path / "plan.csv"}
    [sheet] = plan_of(run / "run", judge="a", **where)  # type: ignore[arg-type]
    row = sheet.frame.iloc[0]
    assert str(row["verdict"]).startswith(said)
    assert row["n_labelled"] < 240


@pytest.mark.parametrize(("better", "what"), [(None, "mean"), (("good", "bad"), "difference")])
def test_a_mean_or_a_difference_is_known_to_a_width(
    run: Path, tmp_path: Path, better: tuple[str, str] | None, what: str
) -> None:
    where, width = tmp_path / "plan.csv", 0.3 if better is None else 0.6
    [sheet] = plan_of(run / "run", better, judge="a", width=width, plan=where)
    row = sheet.frame.iloc[0]
    assert row["verdict"] == f"decided for these units: the {what} is known to ± {width:g}; stop labelling"
    assert row["n_labelled"] < 240
    assert row["ci_high"] - row["ci_low"] <= 2 * width
    ratings = pd.read_csv(run / "data" / "ratings.csv")
    means = ratings.groupby("generator")["rating"].mean()
    truth = ratings["rating"].mean() if better is None else means["good"] - means["bad"]
    assert row["ci_low"] < truth < row["ci_high"]
    first = pd.read_csv(where, dtype=str).head(40)[["user_id", "item_id", "generator"]]
    pd.read_csv(run / "data" / "ratings.csv", dtype=str).merge(first).to_csv(
        tmp_path / "few.csv", index=False
    )
    [sheet] = plan_of(
        run / "run", better, judge="a", width=width / 2, plan=tmp_path / "b.csv", labels=tmp_path / "few.csv"
    )
    assert "not decided: " in sheet.frame["verdict"][0]


def test_wrong_questions_are_one_line(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", str(run / "run"), "--better", "good", "none", "--judge", "a"]) == 2
    assert "no key of the run has both" in capsys.readouterr().err
