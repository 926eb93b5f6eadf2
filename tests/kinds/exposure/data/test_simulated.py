"""The simulated log is what its model says, and the bundled one is what it makes."""

import subprocess
import sys

import numpy as np
import pytest

from metaeval.kinds.exposure.data.loading import load
from metaeval.kinds.exposure.data.simulated import SYSTEMS, simulate
from metaeval.kinds.exposure.propensity.options import PropensityOptions
from tests.conftest import ROOT
from tests.kinds.exposure.propensity.logs import means


@pytest.fixture(scope="module")
def large():
    return simulate(users=300, items=100, seed=3)


def test_the_bundled_log_is_made_by_its_script(tmp_path) -> None:
    script = ROOT / "data" / "make_exposure.py"
    done = subprocess.run(
        [sys.executable, script, tmp_path / "new"], capture_output=True, text=True, check=True
    )
    assert "(simulated)" in done.stdout
    bundled = ROOT / "data" / "exposure"
    for path in bundled.iterdir():
        assert (tmp_path / "new" / path.name).read_bytes() == path.read_bytes()
    data = load(bundled)
    assert data.simulated
    assert len(data) > 400
    assert sum(p.stat().st_size for p in bundled.iterdir()) < 400_000


def test_the_log_is_drawn_by_its_propensities(large) -> None:
    shown = large.data.log.astype({"user_id": "str", "item_id": "str"})
    user, item = (shown[key].str[1:].astype(int) - 1 for key in ("user_id", "item_id"))
    np.testing.assert_array_equal(shown["propensity"], large.propensity[user, item])
    assert not shown.duplicated(["user_id", "item_id"]).any()
    rate = len(shown) / large.propensity.size
    assert rate == pytest.approx(large.propensity.mean(), rel=0.05)
    released = large.data.items.set_index("item_id")["released"]
    assert (shown["timestamp"] >= released[shown["item_id"]].to_numpy()).all()


def test_what_was_shown_is_liked_more_and_weights_undo_it(large) -> None:
    for source in ("logged", "fitted"):
        naive, ips, snips = means(large.data, PropensityOptions(source=source, folds=3))
        assert naive - large.mean > 0.05
        assert abs(snips - large.mean) < 0.02
        assert abs(ips - large.mean) < 0.04
    assert large.data.test["outcome"].mean() == pytest.approx(large.mean, abs=0.03)


def test_recommenders_are_from_random_to_near_the_best(large) -> None:
    values = {system: large.value(system, 10) for system in SYSTEMS}
    assert len(values) >= 6
    assert max(values, key=values.__getitem__) == "near-best"
    assert values["random"] == pytest.approx(large.mean, abs=0.05)
    tastes = [values[name] for name in SYSTEMS if name.startswith("taste")]
    assert tastes == sorted(tastes)


def test_users_can_be_drawn_anew_for_the_same_items_and_recommenders() -> None:
    one, two = (simulate(users=5, items=30, seed=seed).data for seed in (1, 2))
    assert one.items.equals(two.items)
    assert not one.log.equals(two.log)
    assert simulate(users=5, items=30, seed=1).data.fingerprint == one.fingerprint
    assert not simulate(users=5, items=30, world=1).data.items.equals(one.items)
