"""Studies of data and evaluators in memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import datasets
import pytest

import metaeval as me
from metaeval.base.errors import DataError, MetaevalError, StudyError
from metaeval.kinds.explanations.text.texts import Length

QUICK = {"bootstrap": None, "tests": None, "details": False}


def test_a_run_of_a_data_set_in_memory_is_that_of_its_folder(tiny: Path, tmp_path: Path) -> None:
    study = {"evaluators": {"n": "Length()", "one": "Annotator('1')"}, **QUICK}
    held = me.run({"dataset": me.load(tiny), **study}, out=tmp_path / "held")
    read = me.run({"dataset": tiny, **study}, out=tmp_path / "read")
    assert held.correlations.frame.equals(read.correlations.frame)
    assert read.facts.data.place == "../tiny"
    assert held.facts.data == read.facts.data.model_copy(update={"place": ""})
    assert held.facts.study.dataset == "(in memory)"


def test_a_run_takes_functions_and_calls_them_again_each_time(tiny: Path, tmp_path: Path) -> None:
    data, calls = me.load(tiny), []

    def mine(unit: Any) -> int:
        calls.append(unit)
        return 2 * len(unit.explanation)

    evaluators = {"mine": mine, "made": Length(), "panel": "Mean(mine, made)"}
    study = {"dataset": data, "evaluators": evaluators, **QUICK}
    first = me.run(study, out=tmp_path / "run")
    assert first.facts.evaluators["mine"].spec == "Function('mine')"
    assert first.scores.evaluators == ("mine", "made", "panel")
    of = first.scores.frame.set_index("evaluator")["score"]
    assert of["mine"].tolist() == [2 * score for score in of["made"]]
    n = len(calls)
    assert not me.run(study, out=tmp_path / "run").already
    assert len(calls) == 2 * n


@pytest.mark.slow
@pytest.mark.parametrize("name", ["relevance", "slates", "exposure"])
def test_the_kind_is_that_of_the_data(name: str, tmp_path: Path) -> None:
    study = {"dataset": me.load(f"data/{name}"), "truth": "User()", "evaluators": ["Random()"], **QUICK}
    if name == "relevance":
        study["truth"] = "Labels('human')"
    assert me.run(study, out=tmp_path / "run").facts.study.kind == name


def test_what_cannot_be_run(tiny: Path, tmp_path: Path) -> None:
    data = me.load(tiny)

    def said(**study: Any) -> str:
        with pytest.raises(MetaevalError) as error:
            me.run({"dataset": data, "evaluators": ["Length()"], **study}, out=tmp_path / "run")
        assert not (tmp_path / "run").exists()
        return str(error.value)

    assert "kind is 'slates', and the data set is one of explanations" in said(kind="slates")
    assert "name it: {'mine': lambda" in said(evaluators=[lambda unit: 1])
    assert "dataset must be text, not 3" in said(dataset=3)
    assert "specs must differ" in said(evaluators={"a": Length(), "b": Length()})


def test_a_run_of_memory_says_that_its_data_are_gone(tiny: Path, tmp_path: Path) -> None:
    me.run({"dataset": me.load(tiny), "evaluators": ["Length()"], **QUICK}, out=tmp_path / "run")
    with pytest.raises(StudyError, match=r"was given in memory; save it with data.save\(path\)"):
        me.run({"dataset": "(in memory)", "evaluators": ["Length()"]}, out=tmp_path / "again")


def test_what_is_loaded(tiny: Path, tmp_path: Path) -> None:
    data = me.load(tiny)
    assert me.load(data) is data
    table = data.ratings.merge(data.explanations)
    assert me.load(table).explanations.equals(me.from_frames(data.explanations, data.ratings).explanations)
    assert len(me.load(datasets.Dataset.from_pandas(table))) == len(data)
    file = tmp_path / "long.csv"
    table.rename(columns={"item_id": "film"}).to_csv(file, index=False)
    columns = {c: c for c in ("user_id", "generator", "explanation", "reference")} | {"item_id": "film"}
    how = {
        "name": "mine",
        "aspects": {a: {"statement": s} for a, s in data.aspects.items()},
        "scale": {"min": 1, "max": 5},
        "units": columns,
        "ratings": [{"columns": "rating", "rater": {"column": "rater"}, "aspect": {"column": "aspect"}}],
    }
    assert len(me.load(file, how)) == len(me.from_table(file, how)) == len(data)
    with pytest.raises(
        DataError, match=r"has no item_id \(it has user_id, film.*: rename columns, or say with map="
    ):
        me.load(file)
