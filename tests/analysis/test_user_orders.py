"""Whose leaderboard it is, as sheets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest

import metaeval as me
from metaeval.analysis.user_orders import UserOrders, order_sheets
from metaeval.trust.analyses import details_of, generators_of
from tests.analysis.test_generator_sheets import KEYS, ready, scored, study
from tests.study.test_report import payload_of

if TYPE_CHECKING:
    from pathlib import Path


def prepared(truth):
    return ready(truth, scored(truth, same=truth["rating"]))


def own_study(own, *, n_users=30, seed=0, aspect="fit"):
    """Ratings in which users have effects of generators of their own."""
    truth = study([0.6, 0.2, -0.2, -0.6], n_users=n_users, seed=seed, aspects=(aspect,))
    rng = np.random.default_rng(seed + 1)
    pairs = truth["user_id"] + truth["generator"]
    effect = dict(zip(pairs.unique(), own * rng.normal(size=pairs.nunique()), strict=True))
    return truth.assign(rating=truth["rating"] + pairs.map(effect))


def test_a_generator_that_few_users_have_is_left_out_and_named():
    truth = own_study(0.5)
    few = (truth["generator"] == "g3") & truth["user_id"].isin([f"u{i}" for i in range(5)])
    found = UserOrders.of(prepared(truth[~few].reset_index(drop=True)))
    assert found is not None
    assert found.left_out == ("g3",)
    assert "did not rate them: g3." in found.sheets()[0].notes[-1]
    without = UserOrders.of(prepared(truth[truth["generator"] != "g3"].reset_index(drop=True)))
    assert found.found["fit"].rho == without.found["fit"].rho


def test_a_more_personal_aspect_is_said_to_be():
    truth = pd.concat([own_study(0.2), own_study(1.5, aspect="taste")], ignore_index=True)
    orders, tests = order_sheets(prepared(truth))
    assert list(orders.frame["aspect"]) == ["fit", "taste"]
    assert list(tests.frame[["lower", "higher"]].iloc[0]) == ["taste", "fit"]
    assert orders.notes[0].startswith(
        "A user's own order of the generators correlates with the common one: 0."
    )
    assert "The order by taste is more personal than that by fit (p < 0.001)." in orders.notes


def test_refusals_are_said_and_there_is_no_order_without_users():
    [sheet] = order_sheets(prepared(own_study(0.5, n_users=12)))
    assert sheet.frame["rho"].isna().all()
    assert "No ρ where fewer than 20 users rated all of the generators: fit." in sheet.notes
    truth = own_study(0.5).drop(columns="user_id").drop_duplicates(KEYS[1:], ignore_index=True)
    scores = truth.rename(columns={"rating": "score"}).assign(evaluator="same", status="ok")
    assert order_sheets(ready(truth, scores)) == []


def test_the_bundled_sample(sample: Path, tmp_path: Path):
    study = {"dataset": str(sample), "evaluators": ["Annotator('1')"], "missing": {"truth": 3, "score": 0}}
    run = me.run(study, tmp_path / "run").folder
    sheets = {sheet.name: sheet for sheet in generators_of(run)}
    assert list(sheets["orders"].frame["rho"]) == pytest.approx([0.793, 0.691, 0.727, 0.758], abs=0.001)
    assert sheets["order-tests"].frame["p"].min() == pytest.approx(0.132, abs=0.001)
    assert {"orders", "order-tests"} <= {sheet.name for sheet in details_of(run)}
    assert "Whether users have one order of the generators" in (run / "details.md").read_text("utf-8")
    assert "correlates with the common one" in str(payload_of(run / "report.html"))
