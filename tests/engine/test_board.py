"""Boards: what fits a frame, and what correlations give."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pandas as pd
import pytest

from metaeval.base.errors import MetaevalError
from metaeval.base.records import Kind
from metaeval.base.simulation import Simulation
from metaeval.engine.board import Board, BoardDimension, SecondEstimate
from metaeval.engine.correlation import Correlations, correlation_board
from metaeval.engine.order.paired_tests import correlation_cell

FRAME = pd.DataFrame(
    {
        "evaluator": ["one", "two"] * 2,
        "topic": ["plot", "plot", "cast", "cast"],
        "estimate": [0.5, 0.25, 1.0, 0.75],
        "ci_low": float("nan"),
        "ci_high": float("nan"),
        "n_questions": 8,
    }
)
INTERVALS = {
    "cluster": "item",
    "n_clusters": 8,
    "resamples": 20,
    "confidence": 0.9,
    "method": "percentile",
    "expand": False,
    "seed": 0,
}
TOPIC = BoardDimension("topic", {"plot": "questions on plot", "cast": "questions on cast"}, first="cast")


def test_what_is_left_out_is_filled_in() -> None:
    board = Board(FRAME, (TOPIC,), counts={"n_questions": "questions"})
    assert board.codes({"topic": "cast"}) == [1]
    assert (TOPIC.title, TOPIC.plural) == ("topic", "topics")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"counts": {"n_users": "users"}}, "no column n_users"),
        ({"second": SecondEstimate("adjusted", "adjusted")}, "no column adjusted"),
        ({"dimensions": (BoardDimension("task", {"a": "a"}),)}, "no column task"),
        ({"dimensions": (BoardDimension("topic", {"plot": ""}),)}, "'topic' has no value 'cast'"),
        ({"frame": pd.concat([FRAME, FRAME.head(1)])}, "two rows of one evaluator"),
    ],
)
def test_what_does_not_fit_is_said(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Board(**{"frame": FRAME, "dimensions": (TOPIC,), **options})


@pytest.mark.parametrize(
    ("aspects", "shown"),
    [(["fit", "average"], ["fit"]), (["fit", "fun", "average"], ["fit", "fun", "average"])],
)
def test_correlations_give_their_board(aspects: list[str], shown: list[str]) -> None:
    counts = {f"n_{name}": 0 for name in ("units", "groups", "undefined", "missing")}
    rows = [
        {"evaluator": "one", "aspect": a, "level": v, "coefficient": "kendall", "estimate": 0.1, **counts}
        for a in aspects
        for v in ("dataset", "user")
    ]
    frame = pd.DataFrame(rows).assign(ci_low=0.0, ci_high=0.2, corrected=float("nan"))
    board = correlation_board(Correlations.of_frame(frame), correlation_cell(shown[-1], "user", "kendall"))
    assert [list(d.choices) for d in board.dimensions] == [shown, ["dataset", "user"], ["kendall"]]
    assert [d.first for d in board.dimensions] == [shown[-1], "user", "kendall"]
    assert set(board.frame["aspect"]) == set(shown)
    assert board.second is None


def test_what_is_corrected_stands_beside_the_plain_estimate() -> None:
    counts = {f"n_{name}": 0 for name in ("units", "groups", "undefined", "missing")}
    row = {"evaluator": "one", "aspect": "fit", "coefficient": "pearson", "estimate": 0.1, **counts}
    frame = pd.DataFrame(
        [{**row, "level": "user"}, {**row, "level": "generator", "corrected": 0.15}],
    ).assign(ci_low=0.0, ci_high=0.2)
    found = replace(Correlations.of_frame(frame), policy={"bootstrap": INTERVALS})
    board = correlation_board(found, correlation_cell("fit", "user", "pearson"))
    assert board.second is not None
    assert board.frame[board.second.name].dropna().tolist() == [0.15]
    assert "very many items" in board.second.hint
    assert "very many items" in board.second.note


def test_a_cell_is_read_by_its_values() -> None:
    task = BoardDimension("task", {"all": "all tasks"}, total="mean", spoken={"all": "any task"})
    board = Board(FRAME.assign(task="all"), (TOPIC, task), form="hundred")
    assert board.cell() == {"topic": "cast", "task": "all"}
    assert board.cell("plot,") == board.cell(["plot"]) == board.cell({"topic": "plot"})
    assert board.cell(",", {"topic": "plot"}) == {"topic": "plot", "task": "all"}
    assert board.cell({"task": "mean"}) == board.cell(), "of one value, it is the mean"
    assert board.words(board.cell("plot")) == "questions on plot, any task, × 100"
    assert board.of(board.cell("plot"))["estimate"].tolist() == [0.5, 0.25]
    for wanted, said in (
        ("a,b,c", "the column is 'a,b,c'; give topic,task, such as cast,all"),
        ("plt", r"no topic 'plt' to order by; did you mean 'plot'\? \(it has: plot, cast\)"),
        ({"level": "user"}, r"no 'level' to order by \(it has: topic, task\)"),
    ):
        with pytest.raises(MetaevalError, match=said):
            board.cell(wanted)


def test_a_board_is_read_back_from_its_record() -> None:
    second = SecondEstimate("adjusted", "adjusted", at={"topic": "cast"}, made=("So.",))
    board = Board(
        FRAME.assign(adjusted=0.5),
        (TOPIC,),
        estimate="share",
        second=second,
        form="share",
        higher_is_better=False,
        columns=("topic",),
        sums={"n_questions": ("questions", "None.")},
        notes=("One.", "Two."),
        kinds={"one": Kind.JUDGE},
        simulated=Simulation(True),
    )
    plain = json.loads(json.dumps(board.record()))
    again = Board.of_record(board.frame, plain, board.kinds, board.simulated)
    assert (again.dimensions, again.second, again.notes) == ((TOPIC,), second, ("One.", "Two."))
    assert json.loads(json.dumps(again.record())) == plain
    assert (again.kinds, again.simulated) == (board.kinds, board.simulated)
