"""The container is no part of the shape: the same records in any file are the same data set."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaeval.data.exports.known import files_of, recognised
from metaeval.data.exports.shape import content_of, opened
from metaeval.kinds.explanations.data.imports.table import data_set
from tests.data.exports.test_export import MAKERS, Notes

Rows = list[dict[str, Any]]
NOTES: Notes = [("ann", True, 4), ("ben", True, 2), ("gpt", False, 3)]


def _json(value: object) -> object:
    return json.dumps(value) if isinstance(value, dict | list) else value


def _python(value: object) -> object:
    return str(value) if isinstance(value, dict | list) else value


def _cells(rows: Rows, cell: Callable[[object], object], delimiter: str) -> str:
    out = io.StringIO()
    writer = csv.DictWriter(out, [*rows[0]], delimiter=delimiter)
    writer.writeheader()
    writer.writerows({k: cell(v) for k, v in row.items()} for row in rows)
    return out.getvalue()


def _text(suffix: str, text: Callable[[Rows], str]) -> Callable[[Path, Rows], Path]:
    def write(folder: Path, rows: Rows) -> Path:
        (folder / f"export{suffix}").write_text(text(rows), encoding="utf-8")
        return folder / f"export{suffix}"

    return write


def _parquet(folder: Path, rows: Rows) -> Path:
    rows = [
        {k: None if v == {} else v for k, v in row.items()} for row in rows
    ]  # Parquet has no empty objects
    pd.DataFrame(rows).to_parquet(folder / "export.parquet")
    return folder / "export.parquet"


def _saved(folder: Path, rows: Rows) -> Path:
    datasets = pytest.importorskip("datasets")
    datasets.disable_progress_bars()
    datasets.Dataset.from_list(rows).save_to_disk(folder / "saved")
    return folder / "saved"


def _folder(folder: Path, rows: Rows) -> Path:
    (folder / "many").mkdir()
    for n, row in enumerate(rows):
        (folder / "many" / f"{n}.json").write_text(json.dumps(row), encoding="utf-8")
    return folder / "many"


CONTAINERS: dict[str, Callable[[Path, Rows], Path]] = {
    "json lines": _text(".jsonl", lambda rows: "\n".join(json.dumps(row) for row in rows)),
    "csv with json": _text(".csv", lambda rows: _cells(rows, _json, ",")),
    "csv as python prints": _text(".csv", lambda rows: _cells(rows, _python, ",")),
    "tsv": _text(".tsv", lambda rows: _cells(rows, _json, "\t")),
    "parquet": _parquet,
    "saved data set": _saved,
    "folder": _folder,
}


def _made(place: Path) -> tuple[Any, ...]:
    known = recognised(str(place))
    assert known is not None
    data = data_set(files_of(*known, "made")).data
    scores = data.scores
    assert scores is not None
    return (
        [*data.explanations["explanation"]],
        sorted(data.ratings[["item_id", "rater", "aspect", "rating"]].itertuples(index=False, name=None)),
        sorted(scores[["item_id", "evaluator", "score"]].itertuples(index=False, name=None)),
    )


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("tool", sorted({*MAKERS} - {"_opentelemetry"}))
def test_the_container_is_no_part_of_the_shape(tool: str, container: str, tmp_path: Path) -> None:
    rows = [MAKERS[tool](NOTES, n, None) for n in range(4)]
    (tmp_path / "plain.json").write_text(json.dumps(rows), encoding="utf-8")
    assert _made(CONTAINERS[container](tmp_path, rows)) == _made(tmp_path / "plain.json")


SIMPLE = st.none() | st.booleans() | st.integers(-9, 9) | st.text("ab'\"\\ [{,é", max_size=6)
NESTED = st.recursive(
    SIMPLE, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab"), inner)
)


@given(st.lists(NESTED, max_size=4) | st.dictionaries(st.text("ab"), NESTED))
def test_what_json_and_python_print_is_opened(value: object) -> None:
    assert opened(json.dumps(value)) == value
    assert opened(str(value)) == value


@given(
    st.lists(st.integers(-99, 99), min_size=2, max_size=30)
    | st.lists(st.text("abcé ", min_size=1, max_size=30), min_size=2, max_size=30)
)
def test_what_numpy_prints_is_opened(values: list[Any]) -> None:
    assert opened(str(np.array(values, dtype=object))) == values
    if isinstance(values[0], int):
        assert opened(str(np.array(values, dtype=float))) == values


@pytest.mark.parametrize("text", ["[see here]", "[1, 2", "[1 2 ... 9]", "{1, 2}", "[personal] film", "[a b]"])
def test_what_is_no_list_stays_a_text(text: str) -> None:
    assert opened(text) == text


def test_columns_of_one_name_are_told_apart(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x,Status,Score,Status,Score\n1,a,2,b,3\n", encoding="utf-8")
    assert content_of(tmp_path / "a.csv") == [
        {"x": "1", "Status": "a", "Score": "2", "Status (2)": "b", "Score (2)": "3"}
    ]


def test_a_table_that_is_no_export_is_not_read_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pd.DataFrame({"item_id": ["a", "b"], "text": ["x", "y"], "rating": [1, 2]}).to_parquet(
        tmp_path / "t.parquet"
    )
    read: list[int | None] = []
    module = "metaeval.data.exports.known.content_of"

    def noted(path: Path, most: int | None = None) -> list[Any]:
        read.append(most)
        return content_of(path, most)

    monkeypatch.setattr(module, noted)
    assert recognised(str(tmp_path / "t.parquet")) is None
    assert {*read} == {1}


def test_a_folder_of_other_files_is_no_export(tmp_path: Path) -> None:
    _folder(tmp_path, [MAKERS["_langfuse"](NOTES, n, None) for n in range(2)])
    assert recognised(str(tmp_path / "many")) is not None
    (tmp_path / "many" / "notes.txt").write_text("x", encoding="utf-8")
    assert recognised(str(tmp_path / "many")) is None
