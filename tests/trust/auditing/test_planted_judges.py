"""Judges that are planted: what each may be used for, and what an audit says of it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import metaeval as me
from metaeval.cli import main
from metaeval.reports.report_model import payload_of
from metaeval.runs.answer import read_answer
from metaeval.runs.folder import REPORT
from metaeval.runs.judge_trust import USES
from metaeval.trust.auditing.page import audit
from metaeval.trust.gate.run import GateRequest, gate_run

USERS, PER = 60, 12
GENERATORS = np.array(["a", "b", "c"])


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs in which everybody rated all units, or the easy ones alone, or of whose units one person rated."""
    folder = tmp_path_factory.mktemp("audit")
    rng = np.random.default_rng(0)
    n = USERS * PER
    units = pd.DataFrame({"user_id": np.repeat(range(USERS), PER), "item_id": [f"i{k}" for k in range(n)]})
    which = np.arange(n) % 3
    units["generator"] = GENERATORS[which]
    quality = np.clip(np.rint(rng.normal(2.2, 1.0, n)) + 0.8 * which, 1, 5)
    doublings = rng.uniform(0, 3, n)
    units["explanation"] = ["x" * int(20 * 2**d) for d in doublings]
    hard = quality < 3

    def near(values: np.ndarray, spread: float) -> np.ndarray:
        return np.clip(np.rint(values + spread * rng.normal(size=n)), 1, 5)

    judges = {
        "good": near(quality, 0.3),
        "noisy": rng.integers(1, 6, n).astype(float),
        "lenient": near(quality + 1.5, 0.3),
        "length": near(quality + doublings - 1.5, 0.3),
    }
    people = {name: near(quality, 0.5) for name in ("user", "x", "y", "z")}
    scores = [units.assign(evaluator=name, aspect="clear", score=values) for name, values in judges.items()]
    ratings = [units.assign(rater=name, aspect="clear", rating=values) for name, values in people.items()]
    every = np.ones(n, dtype=bool)
    for name, kept, raters in (
        ("all", every, ratings),
        ("easy", ~hard, ratings),
        ("one", every, ratings[:1]),
    ):
        data = folder / f"{name}-data"
        data.mkdir()
        (data / "dataset.yaml").write_text(
            "name: d\nscale: {min: 1, max: 5, integer: true}\naspects: {clear: It is clear.}\n",
            encoding="utf-8",
        )
        units.to_csv(data / "explanations.csv", index=False)
        keys = ["user_id", "item_id", "generator"]
        pd.concat(t[kept][[*keys, "rater", "aspect", "rating"]] for t in raters).to_csv(
            data / "ratings.csv", index=False
        )
        pd.concat(t[[*keys, "evaluator", "aspect", "score"]] for t in scores).to_csv(
            data / "scores.csv", index=False
        )
        study: dict[str, object] = {
            "dataset": str(data),
            "bootstrap": {"resamples": 200},
            "tests": None,
            "details": False,
        }
        study |= {"levels": ["dataset"], "coefficients": ["pearson"]}
        me.run({**study, "evaluators": {name: f"Recorded('{name}')" for name in judges}}, out=folder / name)
    return folder


MAY = {
    ("all", "good"): "yes yes yes yes",
    ("all", "noisy"): "no no no no",
    ("all", "lenient"): "no yes no yes",
    ("all", "length"): "no no no yes",
    ("easy", "good"): "unknown unknown unknown unknown",
    ("one", "good"): "yes yes unknown yes",
}
"""Of a gate, a leaderboard, replacing a person, saving labels."""


@pytest.fixture(scope="module")
def audited(runs: Path) -> dict[str, pd.DataFrame]:
    return {name: audit(runs / name, resamples=200)[0].frame for name in ("all", "easy", "one")}


@pytest.mark.parametrize(("run", "judge"), MAY)
def test_what_a_judge_may_be_used_for(audited: dict[str, pd.DataFrame], run: str, judge: str) -> None:
    rows = audited[run][audited[run]["judge"] == judge].set_index("use")
    said = rows["usable"].replace("cannot be told", "unknown")
    assert " ".join(said[use] for use in USES) == MAY[run, judge], rows["verdict"].to_dict()


def test_the_page_and_the_answer_of_the_run_say_the_same(runs: Path, tmp_path: Path) -> None:
    made = audit.made(runs / "all", judges=["good", "noisy"], use="gate", resamples=200)
    assert made.code == 1
    assert made.first[0].startswith("good: may serve as a gate: it agrees enough with people (")
    assert made.first[1].startswith("noisy: must not serve as a gate: it agrees too little with people (")
    verdicts, found, unchecked, configuration = [sheet for sheet in made.sheets if sheet]
    assert list(verdicts.frame["usable"]) == ["yes", "no"]
    assert "60 users and 720 units rated by users, and on 3 other people" in verdicts.notes[0]
    noisy = found.frame[found.frame["judge"] == "noisy"]
    assert (
        noisy["question"].iloc[0].startswith("Does it agree with people")
    )  # what speaks against the use is first
    people = found.frame[found.frame["question"].str.startswith("Do people agree")]
    assert list(people["judge"]) == ["good / noisy"]
    assert {"repeatability: no repeated calls", "drift: no older run"} <= set(unchecked.frame["what"])
    assert list(configuration.frame["judge"]) == ["good", "noisy"]
    answer = read_answer(runs / "all")
    for name in ("good", "noisy"):
        assert answer.judges[name].words == answer.judges[name].found["audit"] == answer.judges[name].verdicts
    assert answer.trust(["good"]) == [
        "good: may serve as a gate, rank what it scores, replace a person and spare people labels."
    ]
    for name, first, verdict in zip(("good", "noisy"), made.first, ("pass", "inconclusive"), strict=True):
        gated = gate_run(runs / "all", GateRequest(least={"clear": 1.5}, evaluator=name))
        assert (gated.verdict, gated.first) == (verdict, (first,))
    payload = payload_of((runs / "all" / REPORT).read_text())
    assert next(s["name"] for s in payload["sheets"] if s["view"] == "trust") == "audit"


def test_two_audits_are_compared(runs: Path) -> None:
    verdicts, found, unchecked, configuration = audit([runs / "one", runs / "all"], ["good"], resamples=200)
    assert list(verdicts.frame["then"]) == ["yes", "yes", "cannot be told", "yes"]
    then = found.frame.set_index("question")["then"]
    assert then["Does it agree with people on single units?"].startswith("κ")
    assert then["Is it as good as a person?"].startswith("cannot be told")
    assert "Is it the judge that it was?" in then.index
    assert then.index.str.startswith("Which texts do both runs have (anchors)?").any()
    anchors = found.frame.set_index("question")["answer"]["Which texts do both runs have (anchors)?"]
    assert anchors == "720 anchors"  # none was asked of a model, so none has the reply of then
    assert "drift: no older run" not in set(unchecked.frame["what"])
    assert [Path(run).name for run in configuration.frame["run"]] == ["one", "all"]


@pytest.mark.parametrize(("use", "code"), [("gate", 0), ("replace", 4), (None, 0)])
def test_the_exit_code_is_that_of_the_use(runs: Path, use: str | None, code: int) -> None:
    assert (
        main(
            [
                "--quiet",
                "audit",
                str(runs / "one"),
                "--judge",
                "good",
                *(["--use", use] if use else []),
                "--resamples",
                "200",
            ]
        )
        == code
    )


def pairs(seed: int, *, right: float, first: float) -> pd.DataFrame:
    """Draw verdicts on 300 pairs in both orders: right, or for the first that is shown, or a coin."""
    rng = np.random.default_rng(seed)
    rows = []
    for k in range(300):
        gold = rng.choice(["first", "second"])
        for order in ("first", "second"):
            u = rng.random()
            winner = gold if u < right else order if u < right + first else rng.choice(["first", "second"])
            rows.append((f"i{k}", "a", "b", "", "judge", order, winner, "ok", "", gold))
    columns = [
        "item_id",
        "first",
        "second",
        "aspect",
        "evaluator",
        "order",
        "winner",
        "status",
        "call",
        "gold",
    ]
    return pd.DataFrame(rows, columns=columns)


@pytest.mark.parametrize(
    ("right", "first", "gate", "labels"),
    [(0.95, 0.0, "yes", "yes"), (0.0, 0.0, "no", "no"), (0.4, 0.6, "no", "yes"), (0.85, 0.15, "no", "yes")],
)
def test_verdicts_on_pairs(tmp_path: Path, right: float, first: float, gate: str, labels: str) -> None:
    pairs(0, right=right, first=first).to_parquet(path := tmp_path / "verdicts.parquet")
    verdicts, found, *_ = audit(path, resamples=200)
    said = verdicts.frame.set_index("use")["usable"]
    assert (said["gate"], said["labels"]) == (gate, labels)
    position = found.frame.set_index("question")["effect"].filter(like="the order in which two")
    assert position.iloc[0].startswith("a pair asked in one order is decided by it") == (first > 0)
