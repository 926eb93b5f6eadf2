"""What a panel gains: members chosen on some users only, and judged on others."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from metaeval.base.errors import MetaevalError
from metaeval.engine.alignment.policy import Policy
from metaeval.engine.alignment.prepared import prepare
from metaeval.stats.coefficients.grouped import pearson
from metaeval.trust.panel_gain import Fitting, panel_gains

KEYS = ["user_id", "item_id", "generator"]


def study(members: int, *, noise: float, users: int = 30, items: int = 8, seed: int = 0, levels=("dataset",)):
    """Return members whose errors are independent and alike in size, beside the truth."""
    rng = np.random.default_rng(seed)
    units = pd.MultiIndex.from_product(
        [[f"u{u:02}" for u in range(users)], [f"i{i}" for i in range(items)], ["g"]], names=KEYS
    ).to_frame(index=False)
    truth = units.assign(aspect="clear", rating=rng.normal(0, 1, len(units)))
    parts = [
        units.assign(
            evaluator=f"m{m}",
            aspect="clear",
            score=truth["rating"].to_numpy() + rng.normal(0, noise, len(units)),
            status="ok",
        )
        for m in range(members)
    ]
    scores = pd.concat(parts, ignore_index=True)
    return prepare(scores, truth, Policy.of(list(levels), ["pearson"], None, "skip", "common"))


def test_independent_errors_average_out() -> None:
    gains = panel_gains(study(4, noise=1.0))
    by_panel = {g.panel: g for g in gains}
    assert list(by_panel) == ["Mean", "Median", "Majority"]
    mean = by_panel["Mean"]
    # r of one is 1/√2; of a mean of four, whose noise has half the size, 1/√1.25.
    assert mean.of_panel == pytest.approx(1 / np.sqrt(1.25), abs=0.05)
    assert mean.best_member == pytest.approx(1 / np.sqrt(2), abs=0.07)
    assert mean.ci_low > 0
    assert mean.gain == pytest.approx(mean.of_panel - mean.best_member)
    # Whose scores are all different have no majority: it is their mean.
    assert by_panel["Majority"].of_panel == pytest.approx(mean.of_panel)


def test_it_is_the_loop_written_out() -> None:
    data = study(3, noise=1.0, users=10, items=6, seed=3)
    how = Fitting(resamples=5, folds=5, repeats=1, seed=4)
    found = panel_gains(data, how)[0]
    fold = np.empty(10, dtype=int)
    fold[np.random.default_rng([4, 1]).permutation(10)] = np.arange(10) % 5
    of_unit = data.clusters("user").of_unit
    truth, members = data.truth[0], data.scores[:, 0]
    best, panel = [], []
    for f in range(5):
        held = fold[of_unit] == f
        chosen = np.argmax([pearson(m[~held], truth[~held]) for m in members])
        best.append(pearson(members[chosen][held], truth[held]))
        panel.append(pearson(members.mean(axis=0)[held], truth[held]))
    assert found.best_member == pytest.approx(np.mean(best))
    assert found.of_panel == pytest.approx(np.mean(panel))


def test_what_is_no_panel_is_said() -> None:
    with pytest.raises(MetaevalError, match="two members or more, not 1"):
        panel_gains(study(1, noise=1.0))
    with pytest.raises(MetaevalError, match="all units are of one user"):
        panel_gains(study(2, noise=1.0, users=1))
