"""Files that resemble exports are read, or refused with one sentence; nothing ends in a traceback."""

from __future__ import annotations

import contextlib
import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaeval.base.errors import DataError
from metaeval.cli import main
from metaeval.data.exports.export import number_of
from metaeval.data.exports.known import EXPORTS, files_of, recognised
from metaeval.kinds.explanations.data.imports.table import data_set
from tests.data.exports.test_exports import CASES, FILES

VALUES: list[Any] = [None, "", "x", "nan", "[1", "{}", "[]", 0, -1, 1.5, 10**400, float("inf"), float("nan")]
VALUES += [True, [], ["x"], [[1]], [None], [{}], {}, {"a": {"b": [1]}}, " ", "average"]


def _content(name: str) -> Any:
    make = CASES[name][1]
    text = (FILES / name).read_text(encoding="utf-8") if make is None else make()
    if name.endswith(".jsonl"):
        return [json.loads(line) for line in text.splitlines()]
    return json.loads(text)


CONTENTS = {name: _content(name) for name in CASES if name.endswith((".json", ".jsonl"))}


def _places(value: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the way to each value of a file; of a list, into its first two elements."""
    yield way
    inner = (
        value.items() if isinstance(value, dict) else enumerate(value[:2]) if isinstance(value, list) else ()
    )
    for key, one in inner:
        yield from _places(one, (*way, key))


def _numbers(value: Any) -> set[float]:
    if isinstance(value, dict | list):
        return {n for one in (value.values() if isinstance(value, dict) else value) for n in _numbers(one)}
    found = number_of(value)
    return set() if found is None else {found}


@pytest.mark.parametrize("name", CONTENTS)
@given(draw=st.data())
def test_a_file_that_resembles_an_export_is_read_or_refused(name: str, draw: st.DataObject) -> None:
    content = copy.deepcopy(CONTENTS[name])
    for _ in range(draw.draw(st.integers(1, 3))):
        if not content:
            break
        *way, last = draw.draw(st.sampled_from([place for place in _places(content) if place]))
        at = content
        for key in way:
            at = at[key]
        if draw.draw(st.booleans()):
            at[last] = copy.deepcopy(draw.draw(st.sampled_from(VALUES)))
        else:
            del at[last]
    allowed = _numbers(content) | {0.0, 1.0}  # of yes and no
    with contextlib.suppress(DataError):
        for export in EXPORTS:
            if records := export.records_in([content]):
                made = data_set(files_of(export, export.shaped(records, "file"), "made", ("clarity", "x")))
                assert {*made.data.ratings["rating"].dropna()} <= allowed
                break


LIKE_EXPORTS: dict[str, tuple[Any, str]] = {
    "cases": ({"test_results": ["x"]}, "must hold one list of objects"),
    "page": ({"data": ["a"]}, "must hold one list of objects"),
    "split": ({"columns": ["a"], "index": [0], "data": [[1]]}, "orient='records'"),
    "results": ({"results": [1]}, "must hold one list of objects"),
    "inspect": (
        {"eval": {}, "status": "success", "samples": [{"id": 1, "scores": {"a": 1}}]},
        "record 1.samples.0.scores.a must be a mapping from keys to values, not 1",
    ),
    "langfuse": (
        [{"input": "a", "output": "b", "scores": [{"name": "x", "value": 1}]}],
        "looks like an export of Langfuse: the key 'id' is missing under 'record 1'; known is: `GET",
    ),
    "ids": (
        {"data": [{"id": "t", "input": "a", "output": "b", "scores": ["s-1"]}]},
        "scores of which the page of traces has the ids alone; put traces and scores",
    ),
    "langsmith": (
        [{"id": "1", "inputs": {}, "outputs": {}, "feedback": [{"score": 1}]}],
        "the key 'key' is missing under 'record 1.feedback.0'",
    ),
    "label studio": ([{"id": 1, "data": {"text": "x"}, "annotations": None}], "has no ratings of people"),
    "task": ([{"data": {"text": "x"}, "annotations": []}], "the key 'id' is missing under 'record 1'"),
    "not all are records": (
        [{"id": 1, "data": {}, "annotations": []}, 3],
        "record 2 must be a mapping from keys to values, not 3",
    ),
    "phoenix": (
        [{"span_id": "s", "annotator_kind": "HUMAN"}],
        "the key 'name' is missing under 'record 1.annotations.0'",
    ),
    "half a character": (
        [{"id": 1, "data": {"text": "\ud800"}, "annotations": []}],
        "surrogates not allowed",
    ),
}


@pytest.mark.parametrize("case", LIKE_EXPORTS)
def test_what_does_not_fit_is_one_sentence(
    case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content, sentence = LIKE_EXPORTS[case]
    (tmp_path / "file.json").write_text(json.dumps(content), encoding="utf-8")
    assert main(["init", str(tmp_path / "file.json"), "--yes", "--out", str(tmp_path / "out")]) == 2
    said = capsys.readouterr().err
    assert sentence in said
    assert said.count("\n") == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("orient", ["split", "records", "index", "columns", "values", "table"])
def test_a_frame_as_json_is_no_export(orient: Any, tmp_path: Path) -> None:
    who = {"user_id": ["u", "v"], "item_id": ["a", "b"]}
    frame = pd.DataFrame({**who, "explanation": ["w", "x"], "rating": [4, 2]})
    frame.to_json(tmp_path / "frame.json", orient=orient)
    assert recognised(str(tmp_path / "frame.json")) is None
    code = main(["init", str(tmp_path / "frame.json"), "--yes", "--out", str(tmp_path / "out")])
    assert code == (0 if orient in {"records", "table"} else 2)


def test_lists_of_other_lengths_than_the_raters_are_refused(tmp_path: Path) -> None:
    said = r"ok\.responses must hold lists of one length in JSON, not .*\[4, 5, 1\]"
    text = "id,text,ok.responses,ok.responses.users\n1,a,[4 5 1],['x' 'y']\n"
    (tmp_path / "table.csv").write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=said):
        recognised(str(tmp_path / "table.csv"))


def test_a_log_that_is_cut_off_is_refused(tmp_path: Path) -> None:
    (tmp_path / "cut.eval").write_bytes((FILES / "inspect.eval").read_bytes()[:-400])
    with pytest.raises(DataError, match="cannot be read as a log of inspect"):
        recognised(str(tmp_path / "cut.eval"))
