"""Judges that are known to be noise, like a person, biased or good; and ratings of the easy units alone.

Each of `replace`, `correct`, `plan` and `escalate` gives the right verdict, or refuses. Some of these cells
are in the tests of the four commands.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import metaeval as me
from metaeval.trust.escalation import escalation_of
from metaeval.trust.label_plan import plan_of
from metaeval.trust.replacement_tables import replacing_of

USERS, PER = 80, 10
KEYS = ["user_id", "item_id", "generator"]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs, ``all`` and ``easy``: what everybody rated, and the easy units alone.

    A judge is the mean of three samples, which are apart on hard units. Generator b is better by a point.
    """
    folder = tmp_path_factory.mktemp("judges")
    rng = np.random.default_rng(0)
    n = USERS * PER
    units = pd.DataFrame({"user_id": np.repeat(range(USERS), PER), "item_id": [f"i{k}" for k in range(n)]})
    units["generator"] = np.where(np.arange(n) % 2, "b", "a")
    quality = np.clip(np.rint(rng.normal(2.5, 0.8, n)) + (units["generator"] == "b"), 1, 4)
    hard = rng.random(n) < 0.4

    def near(spread: float) -> np.ndarray:
        return np.clip(np.rint(quality + spread * rng.normal(size=n)), 1, 5)

    guess = [rng.integers(1, 6, n) for _ in range(3)]
    samples = {
        "noise": guess,
        "peer": [near(0.6) for _ in range(3)],
        "biased": [np.where(hard, g, quality + 1) for g in guess],
        "good": [np.where(hard, near(0.6), quality) for _ in range(3)],
    }
    people = {name: near(0.2 if name == "user" else 0.6) for name in ("user", "x", "y", "z")}
    scores = [
        units.assign(evaluator=f"{judge}{k}", aspect="clear", score=values)
        for judge, drawn in samples.items()
        for k, values in enumerate(drawn)
    ]
    ratings = [units.assign(rater=name, aspect="clear", rating=values) for name, values in people.items()]
    for name, kept in (("all", np.ones(n, dtype=bool)), ("easy", ~hard)):
        data = folder / f"{name}-data"
        data.mkdir()
        (data / "dataset.yaml").write_text(
            "name: d\nscale: {min: 1, max: 5, integer: true}\naspects: {clear: It is clear.}\n",
            encoding="utf-8",
        )
        units.assign(explanation="text").to_csv(data / "explanations.csv", index=False)
        pd.concat(table[kept] for table in ratings).to_csv(data / "ratings.csv", index=False)
        pd.concat(scores).to_csv(data / "scores.csv", index=False)
        parts = {f"{judge}{k}": f"Recorded('{judge}{k}')" for judge in samples for k in range(3)}
        means = {judge: f"Mean({judge}0, {judge}1, {judge}2)" for judge in samples}
        study = {"dataset": str(data), "bootstrap": None, "tests": None, "details": False}
        study |= {"levels": ["dataset"], "coefficients": ["pearson"]}
        me.run({**study, "evaluators": parts | means}, out=folder / name)
    return folder


ALL_UNITS = "people look at all units: 90% agreement is not shown"
UNLIKE = "units with ratings are not like the others"


@pytest.mark.parametrize(
    ("judge", "run", "within", "said"),
    [
        ("noise", "all", None, ALL_UNITS),
        ("peer", "all", None, ALL_UNITS),  # people agree less often than that among themselves
        ("peer", "all", 1, "peer decides"),
        ("biased", "all", None, ALL_UNITS),
        ("good", "all", None, "good decides"),
        ("good", "easy", None, f"cannot be said: {UNLIKE}"),
    ],
)
def test_escalate(runs: Path, judge: str, run: str, within: float | None, said: str, tmp_path: Path) -> None:
    route = tmp_path / "route.csv"
    sheet, *_ = escalation_of(runs / run, [judge], within=within, route=route)
    assert str(sheet.frame["verdict"][0]).startswith(said)
    assert (pd.read_csv(route)["route"] == "person").all() == ("decides" not in said)


@pytest.mark.parametrize(
    ("judge", "run", "said"),
    [
        ("noise", "all", "does not replace a person"),
        ("biased", "all", "does not replace a person"),
        ("good", "all", "replaces a person"),
        ("good", "easy", f"cannot be said: {UNLIKE}"),
    ],
)
def test_replace(runs: Path, judge: str, run: str, said: str) -> None:
    sheets = replacing_of(runs / run, [judge], resamples=200)
    [verdict] = [s for s in sheets if s.name == "replace"]
    assert str(verdict.frame["verdict"][0]).startswith(said)


@pytest.mark.parametrize(
    ("judge", "better", "run", "said"),
    [
        (
            "noise",
            ("b", "a"),
            "all",
            "decided for these units: b is better than a",
        ),  # at the price of more labels
        ("peer", ("b", "a"), "all", "decided for these units: b is better than a"),
        ("good", None, "all", "decided for these units: on them, good is as good as a person"),
        ("biased", None, "all", "decided for these units: on them, biased is worse than a person"),
        ("good", None, "easy", "not decided: "),
    ],
)
def test_plan(
    runs: Path, judge: str, better: tuple[str, str] | None, run: str, said: str, tmp_path: Path
) -> None:
    [sheet] = plan_of(runs / run, better, judge=judge, plan=tmp_path / "plan.csv")
    verdict = str(sheet.frame["verdict"][0])
    assert verdict.startswith(said)
    assert ("have no label" in verdict) == (run == "easy")
