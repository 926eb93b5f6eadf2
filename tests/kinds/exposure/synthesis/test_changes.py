"""A change is the difference of two ratios over the same users, and its interval pairs them."""

import numpy as np
import pandas as pd
import pytest

from metaeval.engine.intervals import Bootstrap
from metaeval.kinds.exposure.data.loading import log_of
from metaeval.kinds.exposure.synthesis.changes import agreement_sums, change_rows
from tests.kinds.exposure.data.test_loading import ABOUT, tables


def test_of_a_change_that_all_users_share_the_interval_is_narrow_though_users_differ() -> None:
    draw = np.random.default_rng(1)
    level = draw.random(400) * 50
    before = np.stack([level, np.full(400, 100.0)])
    after = np.stack([level + 10, np.full(400, 100.0)])
    rounds = np.stack([before, after])[:, None]
    (row,) = change_rows("evaluator", "e", ["share"], rounds, Bootstrap(resamples=400))
    assert row["change"] == pytest.approx(0.1)
    assert row["change_high"] - row["change_low"] < 1e-9
    assert row["before_high"] - row["before_low"] > 0.01
    (other,) = change_rows("evaluator", "e", ["share"], rounds, None)
    assert (other["change"], np.isnan(other["change_low"])) == (row["change"], True)


def test_agreement_is_the_weight_of_verdicts_that_name_the_better_item() -> None:
    data = log_of(ABOUT, tables())  # u1 prefers a, by weight 6; the outcomes of u2 are equal
    scores = data.units.assign(score=[1.0, 0.0, 1.0, 1.0])
    users = pd.Index(["u1", "u2"])
    ips, plain = agreement_sums(data, scores, users)
    assert ips.tolist() == [[6, 0], [12, 0]]  # right as shown first, a tie in the other order
    assert plain.tolist() == [[1, 0], [2, 0]]
    missing = scores.assign(score=[np.nan, -1.0, 1.0, 1.0])
    assert agreement_sums(data, missing, users)[1].tolist() == [[1, 0], [1, 0]]
