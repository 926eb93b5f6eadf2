"""Python functions as evaluators."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import metaeval as me
from metaeval.base.errors import DataError, SpecError, StudyError
from metaeval.kinds.functions import units_frame
from tests.evaluators.making import make_set, scores_of

DATA = make_set(["a b", "c d e", "f"], ["x", None, "z"])


def length(unit: Any) -> int:
    return len(unit.explanation)


def test_a_function_of_a_unit_scores_like_the_evaluator_that_counts_the_same() -> None:
    table = me.score(DATA, {"mine": length, "theirs": "Length()", "both": "Mean(mine, theirs)"})
    assert scores_of(table, "mine") == scores_of(table, "theirs") == scores_of(table, "both")
    assert table.signatures["mine"]["function"] == f"{__name__}.length"


def test_functions_in_a_list_have_their_own_names() -> None:
    assert me.score(DATA, [length]).evaluators == ("Function('length')",)
    with pytest.raises(SpecError, match=r"name it: \{'mine': lambda unit"):
        me.score(DATA, [lambda unit: 1])


def test_a_unit_has_every_field_and_none_for_a_text_that_is_missing() -> None:
    seen: list[dict[str, Any]] = []
    me.score(DATA, {"look": lambda unit: seen.append(vars(unit))})
    assert [unit["reference"] for unit in seen] == ["x", None, "z"]
    assert [unit["item_id"] for unit in seen] == ["i0", "i1", "i2"]


def test_none_is_no_score() -> None:
    table = me.score(DATA, {"some": lambda unit: unit.reference and 2})
    assert [status for _, status in scores_of(table, "some").values()] == ["ok", "missing", "ok"]


@given(st.permutations(range(3)))
def test_a_function_of_the_frame_may_sort_its_rows(order: list[int]) -> None:
    table = me.score(DATA, {"w": me.of_frame(lambda frame: frame.take(order)["explanation"].str.len())})
    assert scores_of(table, "w") == scores_of(me.score(DATA, {"w": length}), "w")


@given(st.lists(st.floats(allow_nan=True, allow_infinity=True), max_size=5))
def test_whatever_a_frame_function_returns_is_taken_whole_or_refused(values: list[float]) -> None:
    evaluators = {"f": me.of_frame(lambda _: np.array(values))}
    if len(values) == 3 and all(map(math.isfinite, values)):
        assert [s for s, _ in scores_of(me.score(DATA, evaluators), "f").values()] == values
    else:
        with pytest.raises(DataError, match="the function 'f' returns") as error:
            me.score(DATA, evaluators)
        assert "np." not in str(error.value)


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (
            lambda unit: unit.explanaton,
            "failed at the unit with user_id 'u0', item_id 'i0'.*; a unit has user_id",
        ),
        (lambda unit: 1 / (len(unit.explanation) - 5), "item_id 'i1', generator 'gen': ZeroDivisionError"),
        (lambda unit: "good", "returns 'good' for the unit"),
        (me.of_frame(lambda frame: [1, 2]), "returns 2 values for a frame of 3 units"),
        (me.of_frame(lambda frame: frame["text"]), "KeyError: 'text'; the columns are user_id"),
        (
            me.of_frame(lambda frame: [1, np.nan, 3]),
            "returns nan for the unit with user_id 'u1', item_id 'i1'",
        ),
    ],
)
def test_what_a_function_does_wrong_is_one_sentence(function: Callable[..., Any], said: str) -> None:
    with pytest.raises(DataError, match=f"the function 'mine' .*{said}"):
        me.score(DATA, {"mine": function})


def test_a_function_stands_in_no_text() -> None:
    with pytest.raises(SpecError, match="is a Python function, which no spec describes"):
        me.score(DATA, ["Function('mine')"])


@pytest.mark.parametrize("name", ["relevance", "slates", "exposure"])
def test_units_of_every_kind_have_what_their_kind_shows(name: str) -> None:
    data = me.load(f"data/{name}")
    frame = units_frame(data)
    pd.testing.assert_frame_equal(frame[list(data.keys)], data.units, check_dtype=False)
    assert len(me.score(data, {"n": lambda unit: len(vars(unit))})) == len(data) * len(data.aspects)
    assert not frame.drop(columns=list(data.keys)).empty


def test_a_function_in_a_file_beside_the_study(tiny: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tiny / "mine.py").write_text("def letters(unit):\n    return len(unit.explanation)\n", encoding="utf-8")
    study = tiny / "mine.yaml"

    def written(spec: str) -> Path:
        study.write_text(
            f'dataset: {tiny}\nevaluators: {{mine: "{spec}", twice: "Mean(mine, mine)"}}\n'
            "bootstrap: null\ntests: null\ndetails: false\n",
            encoding="utf-8",
        )
        return study

    run = me.run(written("python('mine.py:letters')"), out=tiny / "out")
    frame = run.scores.frame
    lengths = me.load(tiny).explanations["explanation"].str.len()
    assert frame.loc[frame["evaluator"] == "mine", "score"].iloc[: len(lengths)].tolist() == lengths.tolist()
    assert "mine.py is run: it is code of this study" in caplog.text
    assert run.record["evaluators"]["mine"]["signature"]["function"] == "mine.py:letters"
    for spec, said in {
        "python('none.py:letters')": "there is no file",
        "python('mine.py:nothing')": "has no function 'nothing'",
        "python('mine.py', 1)": "give a file and a function",
    }.items():
        with pytest.raises(StudyError, match=said):
            me.run(written(spec), out=tiny / "no")
