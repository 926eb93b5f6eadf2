"""Shares of variance against those that were planted."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from metaeval.analysis.agreement.reliability import variance
from metaeval.engine.alignment.policy import Policy
from metaeval.engine.alignment.prepared import prepare

KEYS = ["user_id", "item_id", "generator"]


def crossed(n_users=60, n_items=40, n_generators=12):
    u, i, g = (v.ravel().astype(str) for v in np.indices((n_users, n_items, n_generators)))
    return pd.DataFrame({"user_id": u, "item_id": i, "generator": g})


def planted(units, rng, **variances):
    """Sum effects of these variances; ``pair`` and ``rest`` are of the user and item, and of the unit."""
    total = rng.normal(0, np.sqrt(variances.get("rest", 0)), len(units))
    for name, keys in (("user", KEYS[:1]), ("item", KEYS[1:2]), ("generator", KEYS[2:]), ("pair", KEYS[:2])):
        if name in variances:
            group = units.groupby(keys).ngroup().to_numpy()
            effect = rng.normal(size=group.max() + 1)
            effect = (effect - effect.mean()) / effect.std(ddof=1)
            total += np.sqrt(variances[name]) * effect[group]
    return total


def sheet(units, truth, missing=None, levels=("dataset",), common="common", **scores):
    """Make the sheet of one aspect, or of several that are given as columns of a dict."""
    truths = truth if isinstance(truth, dict) else {"fit": truth}
    ratings = pd.concat([units.assign(aspect=a, rating=v) for a, v in truths.items()])
    frame = pd.concat([units.assign(evaluator=n, score=v) for n, v in scores.items()])
    return variance(prepare(frame, ratings, Policy.of(list(levels), ["pearson"], missing, "skip", common)))


def test_planted_shares_are_found() -> None:
    rng, units = np.random.default_rng(0), crossed()
    found = sheet(
        units,
        {
            "one": planted(units, rng, user=2, item=1, generator=3, pair=1, rest=3),
            "two": planted(units, rng, user=4, item=1, generator=1, pair=3, rest=1),
        },
        e=planted(units, rng, generator=9, rest=1),
    ).frame.set_index("evaluator")
    expected = {"user": 0.3, "item": 0.1, "generator": 0.2, "user × item": 0.2, "residual": 0.2}
    for name, share in expected.items():
        assert found.loc["truth", name] == pytest.approx(share, abs=0.02)
    assert found.loc["truth", "user: one"] == pytest.approx(0.2, abs=0.02)
    assert found.loc["truth", list(expected)].sum() == pytest.approx(1)
    assert found.loc["e", "generator"] == pytest.approx(0.9, abs=0.02)


def test_factors_that_the_data_lack_are_left_out() -> None:
    rng, units = np.random.default_rng(1), crossed(1, 60, 30)
    found = sheet(units.drop(columns="user_id"), planted(units, rng, item=1, rest=1), e=np.arange(len(units)))
    assert [c.title for c in found.columns] == ["Evaluator", "Items", "Generators", "Rest"]


def test_factors_that_cannot_be_told_apart_are_named() -> None:
    rng = np.random.default_rng(2)
    units = crossed(12, 1, 8).assign(item_id=lambda f: "of " + f["user_id"])
    found = sheet(units, planted(units, rng, user=1, rest=1), e=rng.normal(size=len(units)))
    assert [c.title for c in found.columns] == ["Evaluator", "Users", "Generators", "Rest"]
    text = " ".join(found.notes)
    assert "between items cannot be separated from users" in text
    assert "between pairs of user and item cannot be separated from users" in text
    alone = sheet(crossed(1, 6, 8), rng.normal(size=48), e=rng.normal(size=48))
    assert "one of the users only" in " ".join(alone.notes)


def test_units_that_do_not_enter_are_left_out() -> None:
    rng, units = np.random.default_rng(3), crossed(10, 6, 4)
    truth, score = planted(units, rng, user=1, rest=2), planted(units, rng, item=1, rest=1)
    kept = rng.random(len(units)) < 0.8
    masked = sheet(units, truth, e=np.where(kept, score, np.nan), full=score, common="own")
    frame = masked.frame.set_index("evaluator")
    whole = sheet(units, truth, e=score).frame.set_index("evaluator")
    part = sheet(units[kept], truth[kept], e=score[kept]).frame.set_index("evaluator")
    columns = [c.name for c in masked.columns[1:]]
    assert frame.loc["e", columns].to_list() == pytest.approx(part.loc["e", columns].to_list())
    assert frame.loc["full", columns].to_list() == pytest.approx(whole.loc["e", columns].to_list())
    assert frame.loc["truth", columns].to_list() == pytest.approx(whole.loc["truth", columns].to_list())


def test_a_constant_has_no_shares() -> None:
    rng, units = np.random.default_rng(4), crossed(6, 3, 4)
    found = sheet(units, rng.normal(size=len(units)), e=np.full(len(units), 2.0)).frame.set_index("evaluator")
    assert found.loc["e", ["user", "residual"]].isna().all()
    assert found.loc["truth", ["user", "residual"]].notna().all()
