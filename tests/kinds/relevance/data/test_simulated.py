"""The simulated collection is what its model says, and the bundled one is what it makes."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from data.make_relevance import RATERS, SYSTEMS, simulate
from metaeval.kinds.relevance.data.loading import load
from metaeval.stats.coefficients import kendall
from tests.conftest import ROOT


@pytest.fixture(scope="module")
def large():
    return simulate(users=60, items=300, pool=20, length=20)


def test_the_bundled_collection_is_made_by_its_script(tmp_path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "data.make_relevance", tmp_path / "new"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "(simulated)" in done.stdout
    bundled = load(ROOT / "data" / "relevance")
    assert load(tmp_path / "new").fingerprint == bundled.fingerprint
    assert bundled.simulated
    assert sum(p.stat().st_size for p in (ROOT / "data" / "relevance").iterdir()) < 1_000_000


def test_nothing_recommended_is_in_the_history_and_the_pool_is_labelled_by_all(large) -> None:
    keys = ["user_id", "item_id"]
    past = pd.MultiIndex.from_frame(large.histories[keys])
    assert not pd.MultiIndex.from_frame(large.runs[keys]).isin(past).any()
    pooled = large.runs.loc[large.runs["rank"] <= 20, keys].drop_duplicates()
    assert len(pooled) == len(large)
    assert large.ratings.groupby("rater").size().to_dict() == dict.fromkeys(RATERS, len(large))
    assert large.counts["system"] == len(SYSTEMS) == 14


def test_labels_follow_the_oracle_as_far_as_their_raters_do(large) -> None:
    wide = large.ratings.pivot_table(index=["user_id", "item_id"], columns="rater", values="rating")
    follows = wide.corr(method="spearman")["oracle"]
    assert follows["human"] > 0.75 > follows["judge"] > 0.4 > follows["popular"]


def test_systems_are_from_random_to_near_the_oracle_and_popular_labels_favour_popular_systems(large) -> None:
    def means(rater: str) -> pd.Series:
        labels = large.ratings.loc[large.ratings["rater"] == rater, ["user_id", "item_id", "rating"]]
        return large.runs.merge(labels).groupby("system")["rating"].mean().reindex(SYSTEMS)

    oracle, popular = means("oracle"), means("popular")
    assert oracle.idxmax() == "near-oracle"
    assert oracle.idxmin() in {"popular", "random"}
    tastes = [name for name in SYSTEMS if name.startswith("taste")]
    assert oracle[tastes].is_monotonic_increasing
    assert popular.idxmax() == "popular"
    assert kendall(oracle, means("human")) > 0.9 > kendall(oracle, means("judge")) > 0.6
    assert kendall(oracle, popular) < 0.5


def test_users_can_be_drawn_anew_for_the_same_items_and_systems() -> None:
    one, two = simulate(users=5, items=40, seed=1), simulate(users=5, items=40, seed=2)
    assert one.items.equals(two.items)
    assert not one.runs.equals(two.runs)
    assert simulate(users=5, items=40, seed=1).fingerprint == one.fingerprint
    assert not simulate(users=5, items=40, world=1).items.equals(one.items)
    assert np.unique(simulate(users=1, items=600).items["title"]).size == 600
