"""The simulated log is what its model says, and the bundled one is what it makes."""

import runpy
import sys

import numpy as np
import pytest

from data.make_exposure import SYSTEMS, simulate
from metaeval.kinds.exposure.data.loading import load
from metaeval.kinds.exposure.study import PropensityOptions
from tests.conftest import ROOT
from tests.kinds.exposure.propensity.logs import means


@pytest.fixture(scope="module")
def large():
    return simulate(users=300, items=100, seed=3)


@pytest.mark.filterwarnings("ignore:.*found in sys.modules:RuntimeWarning")  # it is imported above, too
def test_the_bundled_log_is_made_by_its_script(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["make_exposure", str(tmp_path / "new")])
    runpy.run_module("data.make_exposure", run_name="__main__")
    assert "(simulated)" in capsys.readouterr().out
    bundled = ROOT / "data" / "exposure"
    for path in bundled.iterdir():
        assert (tmp_path / "new" / path.name).read_bytes() == path.read_bytes()
    data = load(bundled)
    assert data.simulated
    assert len(data) > 400
    assert sum(p.stat().st_size for p in bundled.iterdir()) < 1_400_000


def test_the_log_is_drawn_by_its_propensities(large):
    shown = large.data.log.astype({"user_id": "str", "item_id": "str"})
    user, item = (shown[key].str[1:].astype(int) - 1 for key in ("user_id", "item_id"))
    np.testing.assert_array_equal(shown["propensity"], large.propensity[user, item])
    assert not shown.duplicated(["user_id", "item_id"]).any()
    rate = len(shown) / large.propensity.size
    assert rate == pytest.approx(large.propensity.mean(), rel=0.05)
    released = large.data.items.set_index("item_id")["released"]
    assert (shown["timestamp"] >= released[shown["item_id"]].to_numpy()).all()


def test_what_was_shown_is_liked_more_and_weights_undo_it(large):
    for source in ("logged", "fitted"):
        naive, ips, snips = means(large.data, PropensityOptions(source=source, folds=3))
        assert naive - large.liking.mean() > 0.05
        assert abs(snips - large.liking.mean()) < 0.02
        assert abs(ips - large.liking.mean()) < 0.04
    assert large.data.test["outcome"].mean() == pytest.approx(large.liking.mean(), abs=0.03)


def test_recommenders_are_from_random_to_near_the_best(large):
    values = {
        system: np.take_along_axis(large.liking, large.runs[system][:, :10], 1).mean() for system in SYSTEMS
    }
    assert len(values) >= 6
    assert max(values, key=values.__getitem__) == "near-best"
    assert values["random"] == pytest.approx(large.liking.mean(), abs=0.05)
    tastes = [values[name] for name in SYSTEMS if name.startswith("taste")]
    assert tastes == sorted(tastes)
