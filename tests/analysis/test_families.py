"""The mean of a family of evaluators, and how sure it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

from metaeval.analysis.families import (
    Family,
    families_in,
    family_sheets,
    purchases_sheet,
    with_totals,
    without_each_reply,
)
from metaeval.base.records import ScoreTable
from metaeval.base.simulation import REAL
from metaeval.engine.alignment.policy import Policy
from metaeval.engine.alignment.prepared import Matched
from metaeval.engine.cells import CorrelationCells
from metaeval.engine.order.paired_tests import correlation_cell
from metaeval.stats.regression.generalizability import variance_of_mean
from metaeval.stats.resampling.rank_ranges import contributions

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
    board, families_ = cells.board(cell), families_in(families, cells, cell)
    sheet, parts = family_sheets(families_, "r", board.form, cluster="item", simulated=board.simulated)
    found = sheet.frame[["ci_low", "ci_high", "total_low", "total_high"]].to_numpy()
    assert found == pytest.approx(np.array([*HANNA.values()]), abs=0.0006)
    assert sheet.notes[2].startswith("Llama-13B: the standard error is 2.77, with twice the items 2.66, ")
    assert sheet.notes[2].endswith("with twice the members 2.05: take more members.")
    assert [column.title for column in parts.columns][1] == "One of the items"


def test_the_total_is_wider_and_counts_users_and_items() -> None:
    cells, cell = cells_of(*study(4)), correlation_cell("fit")
    statistics = cells.statistics(cell, ["one 0", "one 1"])
    assert [n for _, n in statistics] == [12, 7, 84]
    [found] = families_in({"one": [f"one {m}" for m in range(4)]}, cells, cell)
    values = cells.board(cell).frame["estimate"]
    assert found.total.value == found.alone.value == pytest.approx(values.mean())
    assert found.total.low < found.alone.low < found.alone.high < found.total.high
    assert found.n_items == 7
    few = cells_of(*study(4, items=5))
    assert not of_three(few, cell).n_items


def of_three(cells: CorrelationCells, cell: Any) -> Family:
    [found] = families_in({"one": ["one 0", "one 1", "one 2"]}, cells, cell)
    return found


def test_orders_of_means_have_no_interval() -> None:
    cells = cells_of(*study(3), coefficient="kendall")
    found = of_three(cells, cell := correlation_cell("fit", "generator", "kendall"))
    assert np.isnan([found.alone.low, found.total.low, *found.split]).all()
    assert not np.isnan(found.total.value)
    board = cells.board(cell)
    shown = with_totals(board, [found], cell)
    assert shown.intervals.endswith(
        "No total interval: the order of few means does not change smoothly with the data."
    )
    assert shown.frame.equals(board.frame)


def test_many_clusters_are_put_together() -> None:
    cells, cell = cells_of(*study(3, users=1200, items=2)), correlation_cell("fit")
    found = of_three(cells, cell)
    error = (found.alone.high - found.alone.low) / 2 / 1.965
    split = found.split
    assert found.n_clusters == 1200
    assert np.sqrt(split.cluster / 1200 + split.both / 3600) == pytest.approx(error, rel=0.01)


def test_what_to_buy_of_users_items_and_members() -> None:
    cells, cell = cells_of(*study(4)), correlation_cell("fit")
    [found] = families_in({"one": [f"one {m}" for m in range(4)]}, cells, cell)
    now = found.parts.error()
    by_users, *_ = [variance_of_mean(np.stack([contributions(s, n)[-1] for s in of]))
                    for of, n in cells.statistics(cell, found.members)]  # fmt: skip
    assert found.parts.users + found.parts.units + found.parts.both + found.parts.replies == pytest.approx(
        by_users
    )
    sheet = purchases_sheet([found], "r", "hundred", cluster="user")
    assert sheet is not None
    rows = sheet.frame.set_index("purchase")
    assert rows.index.tolist() == ["nothing", "twice the users", "twice the members", "twice the items"]
    assert rows["users"].tolist() == [12, 24, 12, 12]
    assert rows["of_items"].tolist() == [7, 7, 7, 14]
    assert rows["se"].iloc[0] == now == rows["se"].max()
    many = found.parts.error(users=1e9, items=1e9, members=1e9)
    assert many < 1e-5 < found.parts.error(users=1e9, items=1e9)


def test_a_member_alone_may_have_been_another_one() -> None:
    cells, cell = cells_of(*study(4)), correlation_cell("fit")
    [found] = families_in({"one": ["one 0", "one 1", "one 2"]}, cells, cell)
    board = cells.board(cell)
    shown = with_totals(board, [found], cell)
    rows = shown.of(cell).set_index("evaluator")
    before = board.of(cell).set_index("evaluator")
    assert rows["estimate"].equals(before["estimate"])
    assert rows.loc[["one 3"]].equals(before.loc[["one 3"]])
    width = (rows["ci_high"] - rows["ci_low"]).iloc[:3]
    assert (width > found.total.high - found.total.low).all()
    spread = before["estimate"].iloc[:3].std()
    assert (width / 2 > spread).all()
    others = shown.frame.drop(index=board.of(cell).index)
    assert others.equals(board.frame.loc[others.index])
    assert shown.intervals.startswith("Intervals of members of one are total")


def test_replies_are_a_facet() -> None:
    """Of scores that are means of two replies, the component of a reply is that of their noise."""
    rng = np.random.default_rng(1)
    scores, truth = study(3, users=60, items=7, seed=1)
    each = scores["score"].to_numpy()[:, None] + rng.normal(size=(len(scores), 2))
    frame = scores.assign(score=each.mean(axis=1), sample_values=[f"{a!r} {b!r}" for a, b in each.tolist()])
    less = without_each_reply(ScoreTable(frame.assign(status="ok")))
    assert [of.frame["score"].to_numpy() for of in less] == [pytest.approx(each[:, k]) for k in (1, 0)]
    cells = [cells_of(of, truth) for of in (frame, *(t.frame for t in less))]
    cell, members = correlation_cell("fit"), [f"one {m}" for m in range(3)]
    [plain] = families_in({"one": members}, cells[0], cell)
    [found] = families_in({"one": members}, cells[0], cell, less=cells[1:])
    assert found.parts.error() == pytest.approx(plain.parts.error())
    assert found.n_replies == 2
    assert found.parts.replies > 0
    assert found.errors("users")["replies"] < found.parts.error()
    [_, parts] = family_sheets([found], "r", "hundred", cluster="user", simulated=REAL)
    assert parts.frame["sd_reply"].iloc[0] == found.reply**0.5
    none, _ = study(3)
    assert without_each_reply(ScoreTable(none.assign(status="ok"))) == []
