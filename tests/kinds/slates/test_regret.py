"""Regret and accuracy: exact cases, against two loops, and by chance."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metaeval.evaluators.chance import FirstPosition
from metaeval.kinds.slates.data.slate_set import PREFERENCE, SlateSet, units_of, utilities_of
from metaeval.kinds.slates.measures import DuelCells, Oracle
from metaeval.stats.coefficients.tables import Floats
from tests.examples import examples
from tests.kinds.slates.studies import DUEL, duels, random_duels, scored


def by_loops(data: SlateSet, verdicts: Floats, task: str) -> dict[str, float]:
    """Return the measures by the words of the definition: equation 2, one showing after the other."""
    regret, accuracy, right, total = [], [], 0.0, 0.0
    for _, own in data.table.assign(verdict=verdicts).groupby("user_id"):
        lost, correct = [], []
        for row in own.to_dict("records"):
            if row["task"] != task or row["first"] == row["second"] or row["repeat"]:
                continue
            worth = [row["utility_first"], row["utility_second"]]
            chosen = {1: worth[0], -1: worth[1], 0: sum(worth) / 2}[row["verdict"]]
            lost.append(max(worth) - chosen)
            gap = abs(worth[0] - worth[1])
            if gap:
                correct.append({max(worth): 1.0, min(worth): 0.0}.get(chosen, 0.5))
                right, total = right + gap * correct[-1], total + gap
        regret += [np.mean(lost)] if lost else []
        accuracy += [np.mean(correct)] if correct else []
    return {
        "regret": float(np.mean(regret)),
        "accuracy": float(np.mean(accuracy)) if accuracy else np.nan,
        "weighted accuracy": right / total if total else np.nan,
    }


@settings(max_examples=examples(40), deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_measures_are_those_of_two_loops(seed: int) -> None:
    data = random_duels(seed)
    draw = np.random.default_rng(seed)
    given_verdicts = {name: draw.integers(-1, 2, len(data)).astype(float) for name in ("a", "b")}
    cells = DuelCells(scored(data, given_verdicts, bootstrap=None))
    board = cells.board().frame.set_index(["evaluator", "task", "measure"]).sort_index()["estimate"]
    for name, verdicts in given_verdicts.items():
        for task in cells.parts:
            expected = by_loops(data, verdicts, task)
            assert board[name, task].to_dict() == pytest.approx(expected, nan_ok=True)


@settings(max_examples=examples(20), deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_resampled_regret_is_that_of_the_resampled_users(seed: int) -> None:
    data = random_duels(seed)
    draw = np.random.default_rng(seed)
    verdicts = draw.integers(-1, 2, len(data)).astype(float)
    cells = DuelCells(scored(data, {"a": verdicts}, bootstrap=None))
    task = next(iter(cells.parts))
    users = sorted(data.table.loc[data.table["task"] == task, "user_id"].unique())
    weights = draw.integers(0, 3, len(users)).astype(float)
    weights[0] += 1
    again = [
        part.assign(user_id=f"{user} {copy}")
        for user, weight in zip(users, weights, strict=True)
        for copy in range(int(weight))
        for part in [data.table.assign(verdict=verdicts)[data.table["user_id"] == user]]
    ]
    table = pd.concat(again, ignore_index=True)
    whole = replace(data, table=table)
    for measure in cells.measures.values():
        found = measure.of_sums(cells.units(task).sums(measure) @ weights[:, None])[0, 0]
        expected = by_loops(whole, table["verdict"].to_numpy(), task)[measure.name]
        assert found == pytest.approx(expected, nan_ok=True)


def test_a_first_position_judge_has_exactly_the_regret_of_a_coin() -> None:
    data = random_duels(7)
    first = FirstPosition().score(data, [PREFERENCE]).frame["score"].to_numpy()
    best = Oracle().score(data, [PREFERENCE]).frame["score"].to_numpy()
    cells = DuelCells(scored(data, {"first": first, "ties": 0 * first, "oracle": best, "worst": -best}))
    board = cells.board().frame.set_index(["evaluator", "measure", "task"]).sort_index()
    for measure, oracle in (("regret", 0.0), ("accuracy", 1.0), ("weighted accuracy", 1.0)):
        assert (board.loc[("oracle", measure), "estimate"] == oracle).all()
        # Ties are what a coin has on average; the first position wins one order and loses the other.
        ties = board.loc[("ties", measure), "estimate"]
        assert board.loc[("first", measure), "estimate"].to_numpy() == pytest.approx(ties.to_numpy())
        assert board.loc[("worst", measure), "estimate"].to_numpy() == pytest.approx(
            2 * ties.to_numpy() - oracle if measure == "regret" else 0.0
        )


def test_probes_and_repeats_are_no_part_of_any_measure() -> None:
    rows = [
        ("u", "d1", "T1", "a", "b", 1.0, 0.0),
        ("u", "d2", "T1", "a", "a", 1.0, 1.0),
        ("u", "d3", "T1", "a", "b", 1.0, 0.0),
    ]
    table = units_of(pd.DataFrame(rows, columns=DUEL).assign(repeat=[0, 0, 1]))
    data = replace(duels([("u", "T1", "a", "b", 1.0, 0.0)]), table=table, ratings=utilities_of(table))
    cells = DuelCells(scored(data, {"a": [1, -1, 1, 1, -1, 1]}))
    row = cells.board().frame.iloc[0]
    assert (row["estimate"], row["n_units"]) == (0, 2)
