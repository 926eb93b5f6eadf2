"""The simulated duels are what their model says, and the bundled ones are what it makes."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from data.make_slates import RATERS, simulate
from metaeval.kinds.slates.data.loading import load
from tests.conftest import ROOT

KEYS = ["user_id", "duel", "order"]


@pytest.fixture(scope="module")
def large():
    return simulate(users=60)


@pytest.fixture(scope="module")
def plain(large):
    """Return the showings that count, with a verdict of each rater."""
    table = large.table[(large.table["repeat"] == 0) & (large.table["first"] != large.table["second"])]
    said = large.scores.pivot_table(index=KEYS, columns="evaluator", values="score").reset_index()
    return table.merge(said).assign(gap=lambda t: t["utility_first"] - t["utility_second"])


@pytest.mark.slow
def test_the_bundled_duels_are_made_by_their_script(tmp_path) -> None:
    bundled, made = ROOT / "data" / "slates", tmp_path / "new"
    done = subprocess.run(
        [sys.executable, "-m", "data.make_slates", made], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert "(simulated)" in done.stdout
    assert {p.name: p.read_bytes() for p in made.iterdir()} == {
        p.name: p.read_bytes() for p in bundled.iterdir()
    }
    assert sum(p.stat().st_size for p in bundled.iterdir()) < 500_000
    assert load(bundled).simulated


def test_raters_err_as_they_are_said_to(plain) -> None:
    differ = plain[plain["gap"] != 0]
    right = {name: (np.sign(differ["gap"]) == differ[name]).mean() for name in RATERS}
    assert right["sharp"] > 0.85 > right["leaning"] > 0.6
    assert right["sharp"] > right["noisy"] > right["cyclic"]
    assert (plain["leaning"] == 1).mean() > 0.7
    assert abs((plain["noisy"] == 1).mean() - 0.5) < 0.05
    assert (plain["careful"] == 0).mean() > 0.2
    assert not (plain[["sharp", "noisy", "leaning", "cyclic"]] == 0).any(axis=None)
