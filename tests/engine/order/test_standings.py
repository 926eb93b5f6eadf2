"""Correlations → blocks, rows, marks and counts."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd
import pytest

import metaeval as me
from metaeval.base.records import Kind
from metaeval.engine.correlation import Correlation, Correlations, correlation_board
from metaeval.engine.order.standings import standings
from metaeval.engine.sentences import policy_sentences
from metaeval.engine.sheet import Sheet

NAN = math.nan


def correlations(
    estimates: dict[str, dict[str, list[float]]],
    kinds: dict[str, Kind] | None = None,
    *,
    levels: tuple[str, ...] = ("dataset", "user"),
    coefficients: tuple[str, ...] = ("pearson",),
    counts: dict[str, tuple[int, int, int, int]] | None = None,
    policy: dict[str, Any] | None = None,
    simulated: bool = False,
) -> Correlations:
    """Make a result from evaluator → aspect → an estimate per level."""
    rows = [
        Correlation(e, a, level, c, value, NAN, NAN, *(counts or {}).get(e, (10, 2, 0, 0)))
        for e, by_aspect in estimates.items()
        for a, values in by_aspect.items()
        for level, value in zip(levels, values, strict=True)
        for c in coefficients
    ]
    return Correlations(pd.DataFrame(rows, columns=Correlation._fields), policy or {}, kinds or {}, simulated)


def tables(result: Correlations, **options: Any) -> tuple[Sheet, ...]:
    return standings(correlation_board(result), **options).tables


def titles(table: Sheet) -> tuple[str, ...]:
    return tuple(c.title for c in table.columns[1:])


def marks(result: Correlations, level: int = 0) -> dict[str, str]:
    (table,) = tables(result)
    cell = table.columns[1]
    names = (cell.name, *cell.beside)
    return {e: table.marks.get((i, names[level]), "") for i, e in enumerate(table.frame["evaluator"])}


def test_best_and_second_are_marked_for_each_level() -> None:
    result = correlations({"a": {"x": [0.1, 0.3]}, "b": {"x": [0.2, 0.2]}, "c": {"x": [0.3, 0.1]}})
    assert marks(result, 0) == {"a": "", "b": "second", "c": "best"}
    assert marks(result, 1) == {"a": "best", "b": "second", "c": ""}


def test_values_that_are_equal_as_printed_are_marked_alike() -> None:
    result = correlations(
        {"a": {"x": [0.20001, 0]}, "b": {"x": [0.20004, 0]}, "c": {"x": [0.1, 0]}, "d": {"x": [0.10001, 0]}}
    )
    assert marks(result) == {"a": "best", "b": "best", "c": "second", "d": "second"}
    assert set(marks(result, 1).values()) == {"best"}


def test_undefined_values_are_not_marked_nor_negative_zero_printed() -> None:
    result = correlations({"a": {"x": [NAN, NAN]}, "b": {"x": [-0.00001, NAN]}, "c": {"x": [-0.5, NAN]}})
    assert marks(result) == {"a": "", "b": "best", "c": "second"}
    assert set(marks(result, 1).values()) == {""}
    assert me.leaderboard(result).frame["printed"].tolist()[::2] == ["", "0.00", "-50.00"]


def test_a_single_evaluator_is_not_the_best() -> None:
    assert marks(correlations({"a": {"x": [0.1, 0.2]}})) == {"a": ""}


def test_blocks_come_in_the_order_of_kinds_and_rows_in_that_of_the_study() -> None:
    kinds = {"z": Kind.ANNOTATOR, "y": Kind.BASELINE, "x": Kind.ANNOTATOR, "w": Kind.JUDGE}
    result = correlations({e: {"x": [i / 10, 0]} for i, e in enumerate(kinds)}, kinds)
    (table,) = tables(result)
    assert table.frame[["block", "evaluator"]].to_numpy().tolist() == [
        [Kind.BASELINE, "y"],
        [Kind.ANNOTATOR, "z"],
        [Kind.ANNOTATOR, "x"],
        [Kind.JUDGE, "w"],
    ]
    (table,) = tables(result, order="estimate")
    assert table.frame["evaluator"].tolist() == ["y", "x", "z", "w"]


def test_the_average_is_the_last_column_and_left_out_beside_one_aspect() -> None:
    both = {"average": [0.1, 0.1], "x": [0.1, 0.1], "y": [0.1, 0.1]}
    assert titles(tables(correlations({"a": both}))[0]) == ("x", "y", "average")
    one = {"x": [0.1, 0.1], "average": [0.1, 0.1]}
    assert titles(tables(correlations({"a": one}))[0]) == ("x",)


def test_counts_that_are_the_same_are_said_once_and_others_have_a_column() -> None:
    estimates = {e: {a: [0.1, 0.1] for a in ("x", "y", "average")} for e in ("a", "b")}
    same = tables(correlations(estimates))[0]
    assert titles(same) == ("x", "y", "average")
    assert same.notes[2:] == (
        "Compared units in each of 2 aspects: 10.",
        "Groups in each of 2 aspects: 2.",
        "No group was undefined.",
        "No score was missing.",
    )
    differ = tables(correlations(estimates, counts={"b": (1200, 2, 0, 3)}))[0]
    assert titles(differ)[3:] == ("compared units", "missing scores")
    assert differ.frame[["compared units", "missing scores"]].to_numpy().tolist() == [
        ["10", "0"],
        ["1,200", "3"],
    ]


def test_a_table_a_coefficient_in_the_order_asked_for() -> None:
    result = correlations({"a": {"x": [0.1, 0.2]}}, coefficients=("pearson", "kendall"))
    assert [t.title for t in tables(result)] == ["Pearson's r", "Kendall's τ-b"]
    for wanted in (["kendall"], ["kendall", "pearson"]):
        shown = me.leaderboard(result, coefficients=wanted).tables
        assert [t.name for t in shown] == [f"leaderboard-{c}" for c in wanted]
    with pytest.raises(ValueError, match="no coefficient 'spearman'"):
        me.leaderboard(result, coefficients=["spearman"])
    with pytest.raises(ValueError, match="order is 'study' or 'estimate'"):
        me.leaderboard(result, order="name")  # type: ignore[arg-type]


def test_policy_is_said_in_words() -> None:
    policy = {
        "levels": ["user"],
        "missing": {"truth": 3, "score": "drop"},
        "n_truth_missing": {"x": 0, "y": 2},
        "undefined_groups": "zero",
        "units": "own",
        "later_key": 7,
    }
    assert policy_sentences(policy) == (
        "A missing rating of the truth counts as 3 (y: 2).",
        "A missing score drops its unit.",
        "Groups without a defined coefficient count as 0.",
        "Each evaluator is compared on the units that it scored.",
        "Later key: 7.",
    )


def test_the_frame_has_a_row_a_value() -> None:
    board = me.leaderboard(correlations({"a": {"x": [0.125, NAN]}, "b": {"x": [0.5, 0.25]}}))
    frame = board.frame
    assert list(frame.columns) == [*Correlation._fields, "block", "mark", "printed"]
    assert frame["printed"].tolist() == ["12.50", "", "50.00", "25.00"]
    assert frame["mark"].tolist() == ["second", "", "best", "best"]
    assert frame["estimate"].iloc[0] == 0.125


def test_no_correlations_give_no_tables() -> None:
    board = me.leaderboard(correlations({}))
    assert board.tables == ()
    assert board.frame.empty
    assert board.to_markdown() == "# Evaluators\n"
