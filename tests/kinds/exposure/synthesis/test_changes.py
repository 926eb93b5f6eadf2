"""A change is the difference of two ratios over the same users, and its interval pairs them."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from metaeval.engine.intervals import Bootstrap
from metaeval.kinds.exposure.pair_auc import PairCells
from metaeval.kinds.exposure.synthesis.changes import agreement_sums, change_rows
from tests.kinds.exposure.studies import random_pairs, scored


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


@pytest.mark.parametrize("ties", ["wrong", "half", "drop"])
def test_agreement_is_the_pair_auc_of_the_run(ties: str) -> None:
    data = random_pairs(3)
    draw = np.random.default_rng(3)
    cells = PairCells(scored(data, {e: draw.integers(-1, 2, len(data)) for e in "ab"}, ties=ties))
    users = pd.Index(["another", *data.table["user_id"].unique()])
    sums = agreement_sums(cells, users)
    for at, weighting in enumerate(("ips", "none")):
        board = cells.board().of({"bin": "all", "weighting": weighting, "measure": "PairAUC"})
        found = [right / count for right, count in (sums[e][at].sum(axis=1) for e in "ab")]
        assert found == pytest.approx(board["estimate"].tolist())
    assert not sums["a"][:, :, 0].any()
    units = data.table.assign(weight=np.nan)
    unknown = agreement_sums(PairCells(scored(replace(data, table=units), {"a": np.ones(len(data))})), users)
    assert np.isnan(unknown["a"][0]).all()
    assert not np.isnan(unknown["a"][1]).any()
