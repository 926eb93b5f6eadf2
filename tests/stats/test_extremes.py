"""Numbers of any size: coefficients do not depend on the unit of the scores, and nothing warns."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import metaeval as me
from metaeval.cli import main
from metaeval.kinds.explanations.data.loading import save

LEVELS = ["dataset", "user", "pair", "item", "generator"]
SIZES = [1e300, -1e300, 1e-300, -1e-300]
UNITS = pd.DataFrame(
    [(f"u{u}", f"i{i}", g) for u in range(8) for i in range(3) for g in "abc"],
    columns=["user_id", "item_id", "generator"],
)


def drawn(score: float = 1.0, rating: float = 1.0) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return scores of two evaluators and ratings, each times a number."""
    rng = np.random.default_rng(0)
    scores = [
        UNITS.assign(evaluator=e, aspect="x", score=rng.integers(-9, 9, len(UNITS)) * score) for e in "pq"
    ]
    return pd.concat(scores), UNITS.assign(aspect="x", rating=rng.integers(1, 6, len(UNITS)) * rating)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("of", ["score", "rating"])
def test_the_unit_changes_no_coefficient(size: float, of: str) -> None:
    bootstrap = {"resamples": 50, "method": "bca"}
    plain, large = (
        me.correlate(*drawn(**given), levels=LEVELS, bootstrap=bootstrap).frame
        for given in ({of: np.sign(size)}, {of: size})
    )
    pd.testing.assert_frame_equal(plain, large, rtol=1e-9)
    for coefficient in ("pearson", "kendall"):
        tests = [
            me.compare(*drawn(**given), level="user", coefficient=coefficient, permutations=99).frame
            for given in ({of: np.sign(size)}, {of: size})
        ]
        pd.testing.assert_frame_equal(*tests, rtol=1e-9)


@pytest.mark.parametrize("size", SIZES)
def test_one_giant_among_small_ones(size: float) -> None:
    scores, truth = drawn()
    scores["score"] = scores["score"].astype(float)
    scores.iloc[3, scores.columns.get_loc("score")] = size
    found = me.correlate(scores, truth, levels=LEVELS, bootstrap={"resamples": 50}).frame
    assert found["estimate"].between(-1, 1).all()


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES)
def test_the_command_line(size: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    scores, truth = drawn(size)
    people = [truth.assign(rater="user"), truth.assign(rater="anna", rating=truth["rating"].to_numpy()[::-1])]
    data = me.from_frames(
        UNITS.assign(explanation="It is so."),
        pd.concat(people),
        aspects={"x": "X"},
        scale=(1, 5),
        scores=scores,
        name="big",
    )
    save(data, "big", "csv")
    judges = ["Recorded('p')", "Recorded('q')", "Annotator('anna')"]
    Path("s.yaml").write_text(
        f"dataset: big\nevaluators: {judges}\nlevels: {LEVELS}\nbootstrap: {{resamples: 50}}\n"
        "tests: {permutations: 99}\n"
    )
    named = [word for judge in judges for word in ("--judge", judge)]
    for command in (
        ["run", "s.yaml", "--out", "out"],
        ["score", "big", *judges, "--out", "s.csv"],
        ["correlate", "big", "s.csv"],
        ["generators", "out", "--resamples", "50"],
        ["ensembles", "out", *named, "--resamples", "50"],
        ["power", "out", "--studies", "100"],
    ):
        assert main(["-q", *command]) == 0, command
