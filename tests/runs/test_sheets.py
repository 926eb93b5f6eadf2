"""Sheets of tests: what is printed of them, and how simulated evaluators are marked."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from metaeval.base.records import ScoreTable
from metaeval.engine.alignment.policy import Policy
from metaeval.engine.alignment.prepared import Matched
from metaeval.engine.cells import CorrelationCells
from metaeval.engine.frames import compare
from metaeval.engine.order.paired_tests import Tests as How  # under its own name it would be collected
from metaeval.engine.order.paired_tests import correlation_cell
from metaeval.reports.sheets import sheet_to_markdown
from metaeval.runs.comparison import pairs_sheet, side_by_side

BY = correlation_cell("fit", "dataset", "pearson")
COLUMNS = {"judge": {"old": "judge @ old", "new": "judge @ new"}, "length": {"new": "length @ new"}}


def study() -> tuple[ScoreTable, pd.DataFrame]:
    """Return 24 units of 8 users; a judge that became better, and another evaluator."""
    rng = np.random.default_rng(0)
    units = pd.DataFrame(
        {"user_id": [f"u{i // 3}" for i in range(24)], "item_id": [f"i{i}" for i in range(24)]}
    )
    truth = units.assign(aspect="fit", rating=rng.integers(1, 6, 24).astype(float))
    noise = {"judge @ old": 3.0, "judge @ new": 0.1, "length @ new": 9.0}
    frames = [
        units.assign(evaluator=name, aspect="fit", score=truth["rating"] + rng.normal(0, sd, 24))
        for name, sd in noise.items()
    ]
    signatures = {"judge @ old": {}, "judge @ new": {"simulated": True}, "length @ new": {}}
    return ScoreTable(pd.concat(frames, ignore_index=True), signatures), truth


def cells(scores: ScoreTable | pd.DataFrame, truth: pd.DataFrame, missing: Any = None) -> CorrelationCells:
    """Hold scores against the truth; a table of them alone knows no signatures."""
    table = scores if isinstance(scores, ScoreTable) else ScoreTable(scores)
    policy = Policy.of(["dataset"], ["pearson"], missing, "skip", "common")
    return CorrelationCells(Matched(table, truth, policy))


def test_an_evaluator_is_tested_against_itself() -> None:
    scores, truth = study()
    held = cells(scores, truth)
    sheet = side_by_side(
        held,
        held.board(BY),
        COLUMNS,
        How(permutations=999),
        changed={"judge": ["model"]},
        notes=["First."],
    )
    judge, length = sheet.frame.to_dict("records")
    assert judge["difference"] == pytest.approx(judge["estimate @ new"] - judge["estimate @ old"])
    assert judge["difference"] > 0.2
    assert judge["p"] == judge["p_corrected"] < 0.05
    assert np.isnan([length["p"], length["difference"], length["estimate @ old"]]).all()
    titles = [c.title for c in sheet.columns]
    assert titles == ["evaluator", "old", "new", "difference", "p", "corrected p", "what changed"]
    text = sheet_to_markdown(sheet)
    assert "| judge (simulated) |" in text
    assert "| length | — |" in text
    assert sheet.notes[:2] == ("First.", "Cells hold fit, dataset level, pearson, × 100.")
    assert sheet.notes[-1].startswith("Evaluators are matched by name; 1 of 2 are in one run only")
    assert not any("bootstrap" in note for note in sheet.notes)


def test_what_is_undefined_has_no_difference() -> None:
    scores, truth = study()
    failed = scores.frame["evaluator"] == "judge @ new"
    for missing, told in ((None, 0), ({"score": 1}, 24)):
        frame = scores.frame.assign(score=scores.frame["score"].mask(failed))
        held = cells(frame, truth, missing)
        sheet = side_by_side(held, held.board(BY), COLUMNS, How(permutations=99))
        judge = sheet.frame.iloc[0]
        assert judge[["estimate @ new", "difference", "p", "p_corrected"]].isna().all()
        assert judge["estimate @ old"] > 0
        assert (judge["n_units @ new"], judge["n_missing @ new"]) == (told, 24)
        assert "missing scores, new" in {c.title for c in sheet.columns}


def test_every_two() -> None:
    scores, truth = study()
    tests = compare(scores, truth, aspect="fit", permutations=999)
    sheet = pairs_sheet(tests, cells(scores, truth).board(BY))
    assert sheet.frame["first_label"].tolist().count("judge @ new (simulated)") == 2
    assert (sheet.frame["difference"] > 0).all()
    assert [c.title for c in sheet.columns][-2:] == ["corrected p", "Williams' p"]
    kendall = compare(scores, truth, aspect="fit", coefficient="kendall", permutations=99, correction="none")
    assert [c.title for c in pairs_sheet(kendall, cells(scores, truth).board(kendall.by)).columns] == [
        "evaluator",
        "against",
        "difference",
        "p",
    ]
