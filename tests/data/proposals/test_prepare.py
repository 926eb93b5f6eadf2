"""What a map does before columns are read: nested values, filters, renames, constants, own scales."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pandas as pd
import pytest

import metaeval as me
from metaeval.base.errors import DataError
from metaeval.base.records import Scale

TABLE = pd.DataFrame(
    {
        "who": ["ann", "ben", "ann", "cid"],
        "film": ["f1", "f2", "f2", "f1"],
        "split": ["test", "test", "dev", "train"],
        "text": ["One", "Two", "Three", "Four"],
        "I trust it": ["4 - Agree", "5 - Fully agree", "do not know", "1 - No"],
        "fun": [1, 3, 2, 1],
    }
)
MAP: dict[str, Any] = {
    "name": "films",
    "aspects": {
        "trust": {"statement": "I trust it", "code": "I trust it"},
        "fun": {"statement": "It is fun", "scale": {"min": 1, "max": 3}},
    },
    "scale": {"min": 1, "max": 5},
    "where": {"split": ["test", "dev"]},
    "rename": {
        "{code}": {"4 - Agree": 4, "5 - Fully agree": 5, "1 - No": 1, "do not know": None},
        "who": {"cid": "c."},
    },
    "units": {"user_id": "who", "item_id": "film", "generator": {"constant": "gpt"}, "explanation": "text"},
    "ratings": [{"columns": ["{code}", "{aspect}"]}],
}


def changed(**keys: Any) -> dict[str, Any]:
    return {k: v for k, v in (MAP | keys).items() if v is not None}


def test_rows_are_filtered_cells_renamed_and_a_key_is_constant() -> None:
    data = me.from_table(TABLE, MAP)
    assert data.explanations["explanation"].tolist() == ["One", "Two", "Three"]
    assert set(data.explanations["generator"]) == {"gpt"}
    trust = data.ratings[data.ratings["aspect"] == "trust"]
    assert trust["rating"].tolist()[:2] == [4, 5]
    assert trust["rating"].isna().tolist() == [False, False, True]
    assert data.raters == ("user",)  # the pattern names no rater
    assert (data.scale.of("trust"), data.scale.of("fun")) == (Scale(1, 5), Scale(1, 3))


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        (
            {"where": {"splt": "test"}},
            "'splt' is not in the table; did you mean 'split'? (it has: who, film, split, text, I trust it",
        ),
        (
            {"where": {"split": "tets"}},
            "'split' the value 'tets'; did you mean 'test'? (there are: test, dev, train)",
        ),
        ({"rename": {"wo": {"a": 1}}}, "the column 'wo' is not in the table; did you mean 'who'?"),
        ({"explode": "film"}, "there is no column of lists 'film' (there are: none)"),
        (
            {"units": {"item_id": "film", "generator": {"constant": "a", "row": True}}},
            "give either `constant: TEXT` or `row: true`",
        ),
        ({"units": {"item_id": "flm", "generator": "who"}}, "did you mean 'film'? (it has: who, film"),
        ({"scale": None}, "the aspect 'trust' has no scale"),
        ({"rename": None}, "row 2, column 'I trust it': is '4 - Agree'; it may be a finite number"),
    ],
)
def test_what_is_wrong_names_the_columns_there_are(keys: Mapping[str, Any], message: str) -> None:
    with pytest.raises(DataError) as error:
        me.from_table(TABLE, changed(**keys))
    assert message in str(error.value)


NESTED = [
    {
        "user": {"id": "u1"},
        "items": [
            {"film": "f1", "texts": {"gpt": {"text": "One", "marks": [{"by": "ann", "fun": 3}]}}},
            {"film": "f2", "texts": {"gpt": {"text": "Two", "marks": []}}},
        ],
    },
    {
        "user": {"id": "u2"},
        "items": [
            {
                "film": "f1",
                "texts": {
                    "gpt": {"text": "Three", "marks": [{"by": "ann", "fun": 1}, {"by": "ben", "fun": 2}]}
                },
            }
        ],
    },
]
NESTED_MAP = {
    "name": "nested",
    "aspects": {"fun": {"statement": "It is fun"}},
    "scale": {"min": 1, "max": 3},
    "explode": ["items", "items.texts.gpt.marks"],
    "units": {
        "user_id": "user.id",
        "item_id": "items.film",
        "generator": {"constant": "gpt"},
        "explanation": "items.texts.gpt.text",
    },
    "ratings": [
        {
            "columns": "items.texts.gpt.marks.fun",
            "rater": {"column": "items.texts.gpt.marks.by"},
            "aspect": "fun",
        }
    ],
}


@pytest.mark.parametrize("suffix", [".json", ".jsonl"])
def test_paths_lead_into_nested_json_and_lists_become_rows(tmp_path, suffix) -> None:
    path = tmp_path / f"nested{suffix}"
    lines = "\n".join(map(json.dumps, NESTED))
    path.write_text(json.dumps({"data": NESTED}) if suffix == ".json" else lines, encoding="utf-8")
    (tmp_path / "map.yaml").write_text(json.dumps(NESTED_MAP), encoding="utf-8")
    data = me.load(_imported(path, tmp_path / "map.yaml", tmp_path / "out"))
    assert data.explanations["explanation"].tolist() == ["One", "Two", "Three"]
    ratings = data.ratings[["user_id", "item_id", "rater", "rating"]]
    assert ratings.to_numpy().tolist() == [
        ["u1", "f1", "ann", 3],
        ["u2", "f1", "ann", 1],
        ["u2", "f1", "ben", 2],
    ]  # the empty list is no rating, and its text is kept


def test_a_list_of_ratings_is_a_column_for_each_place() -> None:
    table = pd.DataFrame({"film": ["a", "b"], "marks": [{"fun": [1, 3]}, {"fun": [2]}]})
    keys = {
        "explode": None,
        "aspects": {"fun": {"statement": "It is fun"}},
        "units": {"item_id": "film", "generator": {"constant": "gpt"}},
        "ratings": [{"columns": "marks.{aspect}.{rater}", "rater": "rater {rater}"}],
        "where": None,
        "rename": None,
    }
    data = me.from_table(table, changed(**keys))
    assert data.raters == ("rater 0", "rater 1")
    assert data.ratings["rating"].tolist()[:3] == [1, 2, 3]
    assert pd.isna(data.ratings["rating"].tolist()[3])


def _imported(path, map_file, out):
    from metaeval.kinds.explanations.data.imports.table import import_table

    import_table(path, map_file, out)
    return out
