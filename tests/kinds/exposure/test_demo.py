"""The demo of exposure: judges that follow the history beat a coin, and invented evidence is seen."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd
import pytest

import metaeval as me

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def run(demo_of: Callable[[str], Path]) -> Path:
    """Return the run folder of the demo."""
    assert me.load("data/exposure").simulated
    return demo_of("exposure") / "results" / "exposure"


def test_judges_beat_the_first_place_and_systems_are_as_good_as_they_were_made(run: Path) -> None:
    found = pd.read_csv(run / "pair_auc.csv").query("bin == 'all' and weighted").set_index("evaluator")
    assert found.loc["first", "estimate"] == pytest.approx(0.5)
    assert found.loc[["best", "one", "two", "panel"], "ci_low"].gt(0.5).all()
    assert found.loc["best", "estimate"] > found.loc["taste", "estimate"]


def test_only_the_judge_that_makes_things_up_is_caught(run: Path) -> None:
    audit = pd.read_csv(run / "evidence.csv").query("order == 'both'").set_index("evaluator")["complete"]
    assert audit[["two", "three"]].eq(1).all()
    assert 0.7 < audit["one"] < 0.9
