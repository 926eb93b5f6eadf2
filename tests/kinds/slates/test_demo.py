"""The demo of slates tells the simulated raters apart by the faults that they were given."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd
import pytest

import metaeval as me
from metaeval.cli import main

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the run folder of the demo."""
    place = tmp_path_factory.mktemp("demo")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        patch.setenv("METAEVAL_STORE", str(place / "store.sqlite"))
        assert main(["demo", "--kind", "slates", "--out", "out"]) == 0
        assert me.load("data/slates").simulated
    return place / "out"


def test_regret_orders_the_raters_and_places_alone_are_as_good_as_a_coin(demo: Path) -> None:
    regret = pd.read_csv(demo / "regret.csv").set_index(["task", "evaluator"])
    for task in ("T1", "T2", "T3"):
        own = regret.loc[task]
        rising = own.loc[["sharp", "careful", "noisy", "cyclic"], "regret"]
        assert rising.is_monotonic_increasing
        assert own.loc["first", "regret"] == own.loc["longer", "regret"] == own.loc["coin", "chance"]
        assert own.loc[["sharp", "leaning", "panel"], "ci_high"].max() < own.loc["first", "ci_low"]
    assert regret.loc[("T3", "mini"), "ci_high"] < regret.loc[("T3", "coin"), "ci_low"]


def test_coherence_shows_each_fault(demo: Path) -> None:
    found = pd.read_csv(demo / "coherence.csv").pivot_table(
        index="evaluator", columns="axiom", values="estimate"
    )
    assert found.loc["cyclic", "transitivity"] < 0.7 < found.loc["sharp", "transitivity"]
    assert found.loc["first", "asymmetry"] == 0
    assert found.loc["leaning", "asymmetry"] < 0.5 < found.loc["noisy", "asymmetry"] < 0.7
    assert found.loc["sharp", "asymmetry"] > 0.8
    assert found.loc["leaning", "irreflexivity"] < 0.4
    assert found.loc["sharp", "irreflexivity"] > 0.8
    assert found["rating_transitivity"].dropna().index.tolist() == ["mini"]
