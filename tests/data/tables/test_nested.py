"""Nested values are flattened without losing one, and lists become rows."""

from __future__ import annotations

import re
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaeval.base.errors import DataError, sound
from metaeval.data.tables.nested import flattened, object_lists
from metaeval.data.tables.table import frame_of, from_frame, read_table

NAMES = st.sampled_from(["a", "b", "c"])
TREES = st.recursive(
    st.integers(0, 9), lambda inner: st.dictionaries(NAMES, inner, max_size=3) | st.lists(inner, max_size=3)
)
RECORDS = st.lists(
    st.fixed_dictionaries({"x": st.dictionaries(NAMES, TREES, min_size=1)}), min_size=1, max_size=4
)


def leaves(value: Any, path: str = "") -> set[tuple[str, int]]:
    if isinstance(value, dict):
        return {leaf for k, v in value.items() for leaf in leaves(v, f"{path}.{k}")}
    if isinstance(value, list):
        return {leaf for i, v in enumerate(value) for leaf in leaves(v, f"{path}.{i}")}
    return {(path.removeprefix("."), value)}


@given(RECORDS)
def test_every_value_has_a_column_with_its_path(records: list[dict[str, Any]]) -> None:
    flat = flattened(from_frame(frame_of(records), "t")).frame
    for record, (_, row) in zip(records, flat.iterrows(), strict=True):
        found: set[tuple[str, int]] = set()
        for name, value in row.items():  # a column whose rows nest unlike values stays as it is
            nested = isinstance(value, dict | list)
            found |= leaves(value, f".{name}") if nested or not pd.isna(value) else set()
        assert found == leaves(record)


def test_lists_become_rows_from_the_outside_in() -> None:
    records = [
        {"user": 1, "items": [{"id": 1, "marks": [{"m": 5}, {"m": 4}]}, {"id": 2, "marks": []}]},
        {"user": 2, "items": None},
    ]
    table = from_frame(frame_of(records), "t")
    assert object_lists(table) == ["items", "items.marks"]
    flat = flattened(table, ["items", "items.marks"])
    assert flat.frame[["user", "items.id"]].fillna(0).to_numpy().tolist() == [[1, 1], [1, 1], [1, 2], [2, 0]]
    assert flat.frame["items.marks.m"].fillna(0).tolist() == [5, 4, 0, 0]
    assert flat.rows.tolist() == [2, 2, 2, 3]  # those of the source


def test_what_is_no_list_is_named() -> None:
    table = from_frame(frame_of([{"items": [{"id": 1}], "user": 1}]), "t")
    with pytest.raises(
        DataError, match=r"no column of lists 'item'; did you mean 'items'\? \(there are: items\)"
    ):
        flattened(table, ["item"])


WIDE = pd.DataFrame(
    {
        "who": ["a", "b"],
        "text_1": ["x", None],
        "rating_1": [1, None],
        "rating_1_note": ["", "?"],
        "text_2": ["y", "z"],
        "rating_2": [3, None],
    }
)


def test_columns_that_repeat_become_rows_unless_they_are_blank() -> None:
    table = flattened(from_frame(WIDE, "t"), ["text_{n}", "rating_{n}"])
    found = table.frame[["who", "n", "text_{n}", "rating_{n}"]]
    assert found.where(found.notna(), None).to_numpy().tolist() == [
        ["a", "1", "x", 1],
        ["a", "2", "y", 3],
        ["b", "2", "z", None],
    ]
    assert table.rows.tolist() == [2, 2, 3]
    assert table.frame["rating_1_note"].tolist() == ["", "", "?"]


@given(st.lists(st.text(min_size=1), min_size=1, max_size=6, unique=True), st.text(max_size=2))
def test_a_value_is_one_or_more_of_any_characters(values: list[str], end: str) -> None:
    columns = {f"score {value}{end}": [at] for at, value in enumerate(values)}
    rows = flattened(from_frame(pd.DataFrame({"doc": [1], **columns}), "t"), [f"score {{n}}{end}"]).frame
    assert dict(zip(rows["n"], rows[f"score {{n}}{end}"], strict=True)) == {
        v: n for n, v in enumerate(values)
    }


def test_the_first_pattern_has_the_values_unless_where_states_them() -> None:
    columns = ["t a", "t a b", "m a", "m a sd", "m c"]
    table = from_frame(pd.DataFrame([range(5)], columns=columns), "t")
    patterns = ["t {n}", "m {n}", "m {n} sd"]
    rows = flattened(table, patterns).frame
    assert rows[["n", *patterns]].fillna(-1).to_numpy().tolist() == [["a", 0, 2, 3], ["a b", 1, -1, -1]]
    assert rows["m c"].tolist() == [4, 4]  # left out, and still a column
    stated = flattened(table, patterns, {"n": ["c", "a"]}).frame
    assert stated[["n", *patterns]].fillna(-1).to_numpy().tolist() == [["a", 0, 2, 3], ["c", -1, 4, -1]]
    assert stated["t a b"].tolist() == [1, 1]


@pytest.mark.parametrize(
    ("patterns", "said"),
    [
        (["text_{n}", "mark_{n}"], "no column of the table fits the pattern 'mark_{n}'"),
        (["text_{n}", "rating_{m}"], "have one placeholder, the same in all"),
        (["text_{n}{n}"], "have one placeholder, the same in all"),
        (["text_{who}"], "name it so that no column is 'who'"),
    ],
)
def test_patterns_that_do_not_fit_are_named(patterns, said) -> None:
    with pytest.raises(DataError, match=re.escape(said)):
        flattened(from_frame(WIDE, "t"), patterns)


def test_json_in_cells_of_a_csv_is_opened(tmp_path):
    (tmp_path / "a.csv").write_text(
        'id,outputs,plain\n1,"{""output"": ""You like it."", ""marks"": [4, 5]}",[a]\n2,,b\n',
        encoding="utf-8",
    )
    frame = flattened(sound(read_table(tmp_path / "a.csv"))).frame
    assert [*frame] == ["id", "outputs.output", "outputs.marks.0", "outputs.marks.1", "plain"]
    assert frame["outputs.output"].tolist() == ["You like it.", None]
    assert frame["plain"].tolist() == ["[a]", "b"]
