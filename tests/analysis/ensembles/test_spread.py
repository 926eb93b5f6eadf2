"""The spread of ensembles by size, against all subsets one by one."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import pytest

from metaeval.analysis.ensembles.spread import MOST_COMBINED, ensemble_spread, judges_to_combine
from metaeval.engine.alignment.policy import Policy, Prepared, prepare

POLICY = Policy.of(["dataset"], ["pearson"], None, "skip", "common")


def data(n_judges: int = 4, n_users: int = 5) -> tuple[Prepared, pd.DataFrame]:
    rng = np.random.default_rng(0)
    units = [(f"u{u}", f"i{i}", "g") for u in range(n_users) for i in range(8)]
    truth = pd.DataFrame(units, columns=["user_id", "item_id", "generator"]).assign(aspect="clear")
    truth["rating"] = rng.normal(size=len(truth))
    scores = pd.concat(
        [
            truth.drop(columns="rating").assign(
                evaluator=f"j{j}", score=truth["rating"] + rng.normal(size=len(truth)) * (1 + j)
            )
            for j in range(n_judges)
        ],
        ignore_index=True,
    )
    wide = scores.pivot_table(index=["user_id", "item_id"], columns="evaluator", values="score")
    wide["truth"] = truth.set_index(["user_id", "item_id"])["rating"]
    return prepare(scores, truth, POLICY), wide


def test_each_size_sums_up_its_subsets() -> None:
    prepared, wide = data()
    sheet = ensemble_spread(prepared)
    assert sheet is not None
    assert sheet.frame["n_judges"].tolist() == [1, 2, 3, 4]
    for row in sheet.frame.to_dict("records"):
        subsets = combinations([f"j{j}" for j in range(4)], row["n_judges"])
        r = [wide[list(s)].mean(axis=1).corr(wide["truth"]) for s in subsets]
        assert row["n_subsets"] == len(r)
        assert row["mean"] == pytest.approx(np.mean(r))
        found = [row[n] for n in ("minimum", "q1", "median", "q3", "maximum")]
        assert found == pytest.approx(np.quantile(r, [0, 0.25, 0.5, 0.75, 1]))


def test_where_ensembles_cannot_be_compared() -> None:
    assert ensemble_spread(data(n_judges=1)[0]) is None
    assert ensemble_spread(data(n_users=1)[0]) is None


def test_of_very_many_judges_those_without_examples_are_taken() -> None:
    judges = [f"j{i}" for i in range(20)]
    signatures = {j: {"examples": "none" if i % 2 else "one-shot"} for i, j in enumerate(judges)}
    assert judges_to_combine(judges, signatures) == judges[1::2]
    assert judges_to_combine(judges, {}) == judges[:MOST_COMBINED]
    assert judges_to_combine(judges[:5], signatures) == judges[:5]


def test_judges_that_are_left_out_are_said() -> None:
    sheet = ensemble_spread(data(3)[0], n_judges=20)
    assert sheet is not None
    assert sheet.notes[-1] == "Of the run's 20 judges, 3 are combined: j0, j1, j2."
