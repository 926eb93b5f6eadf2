"""The mean of a family of evaluators, and how sure it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest

from metaeval.analysis.families import Family, family_sheets
from metaeval.base.records import ScoreTable
from metaeval.engine.alignment.policy import Policy
from metaeval.engine.alignment.prepared import Matched
from metaeval.engine.cells import CorrelationCells
from metaeval.engine.paired_tests import correlation_cell

if TYPE_CHECKING:
    from pathlib import Path

ASPECTS = {
    "Relevance": "RE",
    "Coherence": "CH",
    "Empathy": "EM",
    "Surprise": "SU",
    "Engagement": "EG",
    "Complexity": "CX",
}
HANNA = {  # over the 96 items alone, and with the four prompts as a sample
    "Beluga-13B": (0.254, 0.326, 0.236, 0.344),
    "ChatGPT": (0.113, 0.188, 0.082, 0.220),
    "Llama-13B": (0.158, 0.201, 0.101, 0.258),
    "Mistral-7B": (0.193, 0.260, 0.181, 0.271),
    "OrcaPlatypus": (0.253, 0.324, 0.231, 0.347),
}


def cells_of(scores: pd.DataFrame, truth: pd.DataFrame, coefficient: str = "pearson") -> CorrelationCells:
    policy = Policy.of(["dataset", "generator"], [coefficient], None, "skip", "common")
    return CorrelationCells(Matched(ScoreTable(scores.assign(status="ok")), truth, policy))


def study(members: int, users: int = 12, items: int = 7, seed: int = 0) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return scores of members that see the same signal, and ratings."""
    rng = np.random.default_rng(seed)
    index = pd.MultiIndex.from_product(
        [range(users), range(items), list("abc")], names=["user_id", "item_id", "generator"]
    )
    signal = rng.normal(size=len(index))
    truth = pd.DataFrame({"aspect": "fit", "rating": signal + rng.normal(size=len(index))}, index)
    own = [signal + rng.normal(size=len(index)) for _ in range(members)]
    frames = [truth[["aspect"]].assign(evaluator=f"one {m}", score=s) for m, s in enumerate(own)]
    return pd.concat(frames).reset_index(), truth.reset_index()


@pytest.mark.slow
def test_hanna(real_data: Path) -> None:
    wide = pd.read_csv(real_data / "hanna" / "hanna_wide.csv")
    wide = wide[wide["generator"] != "Human"]
    units = wide[["item_id", "generator"]]
    truth = pd.concat([units.assign(aspect=a, rating=wide[a]) for a in ASPECTS], ignore_index=True)

    def scores(judge: str, prompt: int, aspect: str) -> pd.DataFrame:
        own = wide[f"{judge} {ASPECTS[aspect]} {prompt}"]
        return units.assign(evaluator=f"{judge} {prompt}", aspect=aspect, score=own.fillna(own.median()))

    frames = [scores(j, p, a) for j in HANNA for p in range(1, 5) for a in ASPECTS]
    cells, cell = cells_of(pd.concat(frames, ignore_index=True), truth), correlation_cell()
    families = {judge: [f"{judge} {p}" for p in range(1, 5)] for judge in HANNA}
    sheet, parts = family_sheets(families, cells, cells.board(cell), cell, cluster="item")
    found = sheet.frame[["ci_low", "ci_high", "total_low", "total_high"]].to_numpy()
    assert found == pytest.approx(np.array([*HANNA.values()]), abs=0.0006)
    assert sheet.notes[2].startswith("Llama-13B: the standard error is 2.77, with twice the items 2.66, ")
    assert sheet.notes[2].endswith("with twice the members 2.05: take more members.")
    assert [column.title for column in parts.columns][1] == "One of the items"


def test_the_total_is_wider_and_counts_users_and_items() -> None:
    cells, cell = cells_of(*study(4)), correlation_cell("fit")
    statistics = cells.statistics(cell, ["one 0", "one 1"])
    assert [n for _, n in statistics] == [12, 7, 84]
    found = Family.of("one", [f"one {m}" for m in range(4)], cells, cell, 0.95)
    values = cells.board(cell).frame["estimate"]
    assert found.total.value == found.alone.value == pytest.approx(values.mean())
    assert found.total.low < found.alone.low < found.alone.high < found.total.high
    assert found.items
    few = cells_of(*study(4, items=5))
    assert not Family.of("one", ["one 0", "one 1", "one 2"], few, cell, 0.95).items


def test_orders_of_means_have_no_interval() -> None:
    cells = cells_of(*study(3), coefficient="kendall")
    found = Family.of(
        "one", ["one 0", "one 1", "one 2"], cells, correlation_cell("fit", "generator", "kendall"), 0.95
    )
    assert np.isnan([found.alone.low, found.total.low]).all()
    assert not np.isnan(found.total.value)
