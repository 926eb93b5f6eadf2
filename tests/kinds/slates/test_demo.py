"""The demo of slates tells the simulated raters apart by the faults that they were given."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

import metaeval as me


@pytest.fixture
def run(demo_of: Callable[[str], Path]) -> Path:
    """Return the run folder of the demo."""
    assert me.load("data/slates").simulated
    return demo_of("slates") / "results" / "slates"


@pytest.mark.slow
def test_regret_orders_the_raters_and_places_alone_are_as_good_as_a_coin(run: Path) -> None:
    regret = pd.read_csv(run / "regret.csv").set_index(["task", "evaluator"])
    for task in ("T1", "T2", "T3"):
        own = regret.loc[task]
        rising = own.loc[["sharp", "careful", "noisy", "cyclic"], "regret"]
        assert rising.is_monotonic_increasing
        assert own.loc["first", "regret"] == own.loc["longer", "regret"] == own.loc["coin", "chance"]
        assert own.loc[["sharp", "leaning", "panel"], "ci_high"].max() < own.loc["first", "ci_low"]
    assert regret.loc[("T3", "mini"), "ci_high"] < regret.loc[("T3", "coin"), "ci_low"]


def test_coherence_shows_each_fault(run: Path) -> None:
    found = pd.read_csv(run / "coherence.csv").pivot_table(
        index="evaluator", columns="axiom", values="estimate"
    )
    assert found.loc["cyclic", "transitivity"] < 0.7 < found.loc["sharp", "transitivity"]
    assert found.loc["first", "asymmetry"] == 0
    assert found.loc["leaning", "asymmetry"] < 0.5 < found.loc["noisy", "asymmetry"] < 0.7
    assert found.loc["sharp", "asymmetry"] > 0.8
    assert found.loc["leaning", "irreflexivity"] < 0.4
    assert found.loc["sharp", "irreflexivity"] > 0.8
    assert found["rating_transitivity"].dropna().index.tolist() == ["mini"]
