"""The simulated duels are what their model says, and the bundled ones are what it makes."""

from __future__ import annotations

import subprocess
import sys
from itertools import combinations

import numpy as np
import pandas as pd
import pytest

from metaeval.kinds.slates.data.loading import load
from metaeval.kinds.slates.data.simulated import RATERS, simulate
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


def test_the_bundled_duels_are_made_by_their_script(tmp_path) -> None:
    bundled, made = ROOT / "data" / "slates", tmp_path / "new"
    script = ROOT / "data" / "make_slates.py"
    done = subprocess.run([sys.executable, script, made], capture_output=True, text=True, check=True)
    assert "(simulated)" in done.stdout
    assert {p.name: p.read_bytes() for p in made.iterdir()} == {
        p.name: p.read_bytes() for p in bundled.iterdir()
    }
    assert sum(p.stat().st_size for p in bundled.iterdir()) < 500_000
    assert load(bundled).simulated


def test_each_user_has_all_pairs_of_four_slates_a_slate_against_itself_and_a_repetition(large) -> None:
    duels = large.table[large.table["order"] == "first"]
    for (_, task), own in duels.groupby(["user_id", "task"]):
        counted = own[own["repeat"] == 0]
        pairs = [frozenset(pair) for pair in counted[["first", "second"]].to_numpy().tolist()]
        four = [f"{task}.{number}" for number in "1234"]
        assert {p for p in pairs if len(p) == 2} == {frozenset(p) for p in combinations(four, 2)}
        assert (len(pairs), len(own)) == (7, 8)


def test_nothing_of_a_slate_is_in_the_history_of_the_user(large) -> None:
    keys = ["user_id", "item_id"]
    past = pd.MultiIndex.from_frame(large.histories[keys])
    assert not pd.MultiIndex.from_frame(large.slates[keys]).isin(past).any()
    assert large.slates.groupby(["user_id", "slate"]).size().eq(5).all()
    assert large.table["utility_first"].between(0, 1).all()


def test_raters_err_as_they_are_said_to(plain) -> None:
    differ = plain[plain["gap"] != 0]
    right = {name: (np.sign(differ["gap"]) == differ[name]).mean() for name in RATERS}
    assert right["sharp"] > 0.85 > right["leaning"] > 0.6
    assert right["sharp"] > right["noisy"] > right["cyclic"]
    assert (plain["leaning"] == 1).mean() > 0.7
    assert abs((plain["noisy"] == 1).mean() - 0.5) < 0.05
    assert (plain["careful"] == 0).mean() > 0.2
    assert not (plain[["sharp", "noisy", "leaning", "cyclic"]] == 0).any(axis=None)


def test_the_cyclic_rater_prefers_each_slate_to_the_next_one_all_round(plain) -> None:
    numbers = plain[["first", "second"]].apply(lambda slates: slates.str[-1].astype(int))
    steps = (numbers["second"] - numbers["first"]) % 4
    assert (plain.loc[steps == 1, "cyclic"] == 1).mean() > 0.9
    assert (plain.loc[steps == 3, "cyclic"] == -1).mean() > 0.9


def test_users_can_be_drawn_anew_for_the_same_items() -> None:
    one, two = (simulate(users=3, items=40, history=5, seed=seed) for seed in (1, 2))
    assert one.items.equals(two.items)
    assert not one.slates.equals(two.slates)
    assert simulate(users=3, items=40, history=5, seed=1).fingerprint == one.fingerprint
