"""Measures of which some are the better the higher, others the lower they are."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from metaeval.base.records import ScoreTable
from metaeval.engine.alignment.prepared import Matched
from metaeval.engine.intervals import Bootstrap
from metaeval.engine.measures import Measure, MeasuredCells, share
from metaeval.engine.order import paired_tests
from metaeval.engine.order.ranking import ranking
from metaeval.engine.order.standings import standings
from metaeval.kinds.study import Study
from metaeval.stats.resampling.cluster_sums import ratio

RNG = np.random.default_rng(0)
UNITS = pd.DataFrame(
    {"user_id": [f"u{i // 9:02d}" for i in range(180)], "question": [f"q{i}" for i in range(180)]}
)
TRUTH = RNG.integers(0, 2, 180).astype(float)
WRONG = {"good": RNG.random(180) < 0.1, "weak": RNG.random(180) < 0.4}
MEASURES = (
    share("accuracy", lambda scores, truth: scores == truth),
    Measure(
        "error",
        lambda scores, truth: [np.abs(scores - truth), np.ones_like(truth)],
        lambda sums: ratio(sums[0], sums[1]),
        alike=True,
        lower_is_better=True,
    ),
)


def cells(names: tuple[str, ...] = ("weak", "good", "silent")) -> MeasuredCells:
    given = {name: np.where(wrong, 1 - TRUTH, TRUTH) for name, wrong in WRONG.items()}
    given["silent"] = np.full(180, np.nan)
    scores = pd.concat(
        UNITS.assign(evaluator=n, aspect="answer", score=given[n], status="ok" if n in WRONG else "missing")
        for n in names
    )
    truth = UNITS.assign(aspect="answer", rating=TRUTH)
    policy = Study(dataset="d", truth="t", evaluators=["Random(seed=0)"]).policy
    return MeasuredCells(
        Matched(ScoreTable(scores), truth, policy), MEASURES, intervals=Bootstrap(resamples=400)
    )


def test_the_direction_is_that_of_the_cell() -> None:
    found = cells()
    board = found.board()
    (table,) = standings(board, order="estimate").tables
    names = [*table.frame["evaluator"]]
    assert {table.marks[names.index("good"), f"answer {m}"] for m in ("accuracy", "error")} == {"best"}
    for measure, sign in (("accuracy", 1), ("error", -1)):
        cell = {"aspect": "answer", "measure": measure}
        tests = found.compare(cell, paired_tests.Tests(permutations=500))
        sheet = ranking(board, tests=tests)
        assert [*sheet.frame["evaluator"]] == ["good", "weak", "silent"]
        assert [*sheet.frame["rank_range"]] == ["1", "2", ""]
        assert [*sheet.frame["may_be_best"].fillna(value=False)] == [True, False, False]
        (pair,) = tests.frame[tests.frame["p"].notna()].to_dict("records")
        assert (pair["first"], pair["second"]) == ("good", "weak")
        assert np.sign(pair["difference"]) == sign
        assert pair["p_greater"] < 0.01


def test_clusters_count_alike_where_a_measure_says_so() -> None:
    found = cells(("weak",))
    kept = np.ones(180, dtype=bool)
    kept[:6] = False  # so that the first user has three answers
    found.matched.truth.loc[~kept, "rating"] = np.nan
    wrong = pd.Series(WRONG["weak"][kept]).groupby(UNITS["user_id"].to_numpy()[kept])
    board = found.board().frame.set_index("measure")
    assert board.loc["error", "estimate"] == pytest.approx(wrong.mean().mean())
    assert board.loc["accuracy", "estimate"] == pytest.approx(1 - WRONG["weak"][kept].mean())
    assert board.loc["accuracy", "n_units"] == 174
