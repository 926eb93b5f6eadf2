"""Everything that can be wrong with a data set is named with its file, row and column."""

from __future__ import annotations

import json
import math

import pandas as pd
import pytest

from metaeval.base.errors import DataError
from metaeval.kinds.explanations.data import loading
from metaeval.kinds.files.loading import inspect

CASES = {
    # name: (file, old, new, file of the problem, row, column, parts of the message)
    "duplicate unit": (
        "explanations.csv",
        "u1,007,b,Another",
        "u1,007,a,Another",
        "explanations.csv",
        3,
        None,
        ["user_id 'u1'", "item_id '007'", "already in row 2"],
    ),
    "above the scale": ("ratings.csv", "clarity,4", "clarity,6", "ratings.csv", 2, "rating", ["6", "1 to 5"]),
    "below the scale": (
        "ratings.csv",
        "clarity,4",
        "clarity,0",
        "ratings.csv",
        2,
        "rating",
        ["integers from 1 to 5"],
    ),
    "not whole": ("ratings.csv", "clarity,4", "clarity,4.5", "ratings.csv", 2, "rating", ["4.5", "integers"]),
    "unknown aspect": (
        "ratings.csv",
        "1,clarity,2",
        "1,clarty,2",
        "ratings.csv",
        4,
        "aspect",
        ["'clarty'", "did you mean 'clarity'"],
    ),
    "unknown item": (
        "ratings.csv",
        "u2,8,a",
        "u2,88,a",
        "ratings.csv",
        5,
        "item_id",
        ["'88'", "explanations.csv"],
    ),
    "unknown unit": (
        "ratings.csv",
        "u2,8,a",
        "u2,8,b",
        "ratings.csv",
        5,
        None,
        ["there is no unit", "generator 'b'"],
    ),
    "id is text": ("ratings.csv", "u1,007,b", "u1,7,b", "ratings.csv", 4, "item_id", ["'7'"]),
    "duplicate rating": (
        "ratings.csv",
        "u1,007,b,1,clarity,2",
        "u1,007,a,user,clarity,2",
        "ratings.csv",
        4,
        None,
        ["rater 'user'", "already in row 2"],
    ),
    "empty text": ("explanations.csv", "One text", "  ", "explanations.csv", 2, "explanation", ["is empty"]),
    "column missing": (
        "explanations.csv",
        ",explanation",
        ",explnation",
        "explanations.csv",
        None,
        "explanation",
        ["is missing", "did you mean 'explnation'"],
    ),
    "rating column missing": (
        "ratings.csv",
        "aspect,rating",
        "aspect,ratng",
        "ratings.csv",
        None,
        "rating",
        ["did you mean 'ratng'"],
    ),
    "user_id spelt otherwise": (
        "explanations.csv",
        "user_id",
        "userid",
        "explanations.csv",
        None,
        "user_id",
        ["did you mean 'userid'"],
    ),
    "not a number": (
        "ratings.csv",
        "clarity,4",
        "clarity,good",
        "ratings.csv",
        2,
        "rating",
        ["'good'", "number"],
    ),
    "decimal comma": ("ratings.csv", "clarity,4", 'clarity,"4,0"', "ratings.csv", 2, "rating", ["'4,0'"]),
    "underscore in a number": (
        "ratings.csv",
        "clarity,4",
        "clarity,0_4",
        "ratings.csv",
        2,
        "rating",
        ["'0_4'"],
    ),
    "written NaN": (
        "ratings.csv",
        "clarity,4",
        "clarity,nan",
        "ratings.csv",
        2,
        "rating",
        ["'nan'", "empty"],
    ),
    "infinite": ("ratings.csv", "clarity,4", "clarity,inf", "ratings.csv", 2, "rating", ["'inf'"]),
    "empty key": ("explanations.csv", "u1,007,b", "u1, ,b", "explanations.csv", 3, "item_id", ["is empty"]),
    "empty rater": ("ratings.csv", "b,1,clarity", "b,,clarity", "ratings.csv", 4, "rater", ["is empty"]),
    "empty aspect": ("ratings.csv", "b,1,clarity", "b,1,", "ratings.csv", 4, "aspect", ["is empty"]),
    "too few fields": (
        "ratings.csv",
        ",clarity,4",
        ",4",
        "ratings.csv",
        2,
        None,
        ["5 fields", "6", "too few"],
    ),
    "too many fields": (
        "explanations.csv",
        '"A text, with a comma"',
        "A text, with a comma",
        "explanations.csv",
        4,
        None,
        ["5 fields", "too many"],
    ),
    "stray quotation mark": (
        "explanations.csv",
        '"A text, with a comma"',
        '"A text',
        "explanations.csv",
        4,
        None,
        ["not valid CSV"],
    ),
    "two columns of one name": (
        "ratings.csv",
        "rater,aspect",
        "aspect,aspect",
        "ratings.csv",
        1,
        "aspect",
        ["two columns"],
    ),
    "average as an aspect": (
        "dataset.yaml",
        "trust:",
        "average:",
        "dataset.yaml",
        None,
        None,
        ["line 2", "'average'"],
    ),
    "unknown key": (
        "dataset.yaml",
        "name: tiny",
        "name: tiny\nlicense: MIT",
        "dataset.yaml",
        None,
        None,
        ["line 2", "'license'", "did you mean 'licence'"],
    ),
    "unknown key of the scale": (
        "dataset.yaml",
        "max: 5",
        "max: 5, intege: true",
        "dataset.yaml",
        None,
        None,
        ["line 5", "did you mean 'integer'"],
    ),
    "key missing": ("dataset.yaml", "name: tiny\n", "", "dataset.yaml", None, None, ["'name' is missing"]),
    "scale upside down": (
        "dataset.yaml",
        "min: 1, max: 5",
        "min: 5, max: 1",
        "dataset.yaml",
        None,
        None,
        ["line 5", "must be below"],
    ),
    "not YAML": (
        "dataset.yaml",
        "name: tiny",
        "name: [tiny",
        "dataset.yaml",
        None,
        None,
        ["line", "not YAML"],
    ),
    "wrong type": (
        "dataset.yaml",
        "name: tiny",
        "name: 7",
        "dataset.yaml",
        None,
        None,
        ["line 1", "name must be text, not 7", "quotes"],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_wrong_cell_is_named(tiny, case):
    file, old, new, where, row, column, parts = CASES[case]
    assert inspect(tiny.folder).problems == ()
    tiny.replace(file, old, new)
    problems = inspect(tiny.folder).problems
    assert (where, row, column) in [p[:3] for p in problems]
    said = next(str(p) for p in problems if p[:3] == (where, row, column))
    for part in parts:
        assert part in said
    with pytest.raises(DataError) as caught:
        loading.load(tiny.folder)
    assert caught.value.problems == tuple(problems)
    assert "\n" not in str(caught.value)


def test_every_problem_is_found_at_once(tiny):
    tiny.replace("ratings.csv", "clarity,4", "clarity,9")
    tiny.replace("ratings.csv", "clarity,5", "clarity,x")
    tiny.replace("explanations.csv", "One text", "")
    found = {(p.file, p.row, p.column) for p in inspect(tiny.folder).problems}
    assert found == {
        ("ratings.csv", 2, "rating"),
        ("ratings.csv", 5, "rating"),
        ("explanations.csv", 2, "explanation"),
    }


def test_a_row_is_counted_as_a_spreadsheet_does(tiny):
    """A line break inside a cell makes no row, a blank line does."""
    tiny.replace("explanations.csv", "One text", '"One\ntext"')
    tiny.replace("explanations.csv", "u2,8,a", "\nu2,8,")
    assert [(p.row, p.column) for p in inspect(tiny.folder).problems if p.file == "explanations.csv"] == [
        (5, "generator")
    ]


@pytest.mark.parametrize(
    ("content", "row", "column", "part"),
    [
        ("user_id,item_id\nu1,caf\xe9".encode("latin-1"), 2, "item_id", "byte 0xe9"),
        (b"\xef\xbb\xbfuser_id,item_id\nu1,1\n\xff,1", 3, "user_id", "byte 0xff"),
        ("user_id,item_id\nu1,1".encode("utf-16"), None, None, "UTF-16"),
    ],
)
def test_wrong_encoding(tiny, content, row, column, part):
    tiny.write("ratings.csv", content)
    (problem,) = inspect(tiny.folder).problems
    assert problem[:3] == ("ratings.csv", row, column)
    assert part in problem.message


def test_a_byte_order_mark_is_accepted(tiny):
    for name in ("explanations.csv", "ratings.csv", "dataset.yaml"):
        tiny.write(name, b"\xef\xbb\xbf" + (tiny.folder / name).read_bytes())
    assert inspect(tiny.folder).problems == ()


@pytest.mark.parametrize("content", ["", "\n \n"])
def test_an_empty_file(tiny, content):
    tiny.write("ratings.csv", content)
    (problem,) = inspect(tiny.folder).problems
    assert problem[:3] == ("ratings.csv", None, None)
    assert "empty" in problem.message


def test_a_header_without_rows(tiny):
    tiny.write("explanations.csv", "user_id,item_id,generator,explanation\n")
    tiny.write("ratings.csv", "user_id,item_id,generator,rater,aspect,rating\n")
    (problem,) = inspect(tiny.folder).problems
    assert "no rows" in str(problem)


def test_the_same_table_twice(tiny):
    loading.load(tiny.folder).explanations.to_parquet(tiny.folder / "explanations.parquet")
    (problem,) = inspect(tiny.folder).problems
    assert "explanations.parquet and explanations.csv both exist" in str(problem)


@pytest.mark.parametrize(("file", "near"), [("ratings.csv", "rating.csv"), ("dataset.yaml", "datset.yaml")])
def test_a_file_missing(tiny, file, near):
    (tiny.folder / file).rename(tiny.folder / near)
    (problem,) = inspect(tiny.folder).problems
    assert problem.file == file
    assert f"did you mean {near!r}" in problem.message


def test_a_folder_missing(tiny):
    with pytest.raises(DataError, match="does not exist; did you mean 'tiny'"):
        inspect(tiny.folder.parent / "tny")
    with pytest.raises(DataError, match="is a file"):
        inspect(tiny.folder / "ratings.csv")


JSONL = [
    {"item_id": 7, "generator": "a", "explanation": "One", "user_id": "u1"},
    {"item_id": 8, "generator": "a", "explanation": "Two", "user_id": "u1"},
    {"item_id": 9, "generator": "a", "explanation": "Three", "user_id": "u1"},
]


@pytest.mark.parametrize(
    ("line", "row", "column", "part"),
    [
        ('{"item_id": 7, ', 2, None, "not a JSON object"),
        ("[1, 2]", 2, None, "one object in braces"),
        ('{"item_id": NaN}', 2, None, "NaN is not a number"),
        (
            '{"item_id": "007", "generator": "a", "explanation": "x", "user_id": "u1"}',
            2,
            "item_id",
            "most rows hold a number",
        ),
        (
            '{"item_id": 5, "generator": ["a"], "explanation": "x", "user_id": "u1"}',
            2,
            "generator",
            "holds a list",
        ),
        ('{"item_id": 5, "generator": "\\ud800", "explanation": "x", "user_id": "u1"}', 2, None, "surrogate"),
        (b'{"item_id": "\xff"}', 2, None, "byte 0xff"),
        ('{"item_id": ' + "[" * 100_000, 2, None, "too deeply"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_broken_line_of_jsonl(tiny, line, row, column, part):
    (tiny.folder / "explanations.csv").unlink()
    lines = [json.dumps(r).encode() for r in JSONL]
    lines.insert(1, line if isinstance(line, bytes) else line.encode())
    tiny.write("explanations.jsonl", b"\n".join(lines))
    problem = next(p for p in inspect(tiny.folder).problems if p.file == "explanations.jsonl")
    assert problem[:3] == ("explanations.jsonl", row, column)
    assert part in problem.message


def test_mixed_types_of_ratings(tiny):
    (tiny.folder / "ratings.csv").unlink()
    row = {"user_id": "u1", "item_id": "007", "generator": "a", "rater": "user", "aspect": "clarity"}
    values = [4, "4", 5, True]
    raters = ["user", "1", "2", "3"]
    lines = [json.dumps({**row, "rater": r, "rating": v}) for r, v in zip(raters, values, strict=True)]
    tiny.write("ratings.jsonl", "\n".join(lines))
    problems = inspect(tiny.folder).problems
    assert [(p.row, p.column) for p in problems] == [(2, "rating"), (4, "rating")]


def test_a_broken_parquet_file(tiny):
    (tiny.folder / "ratings.csv").unlink()
    tiny.write("ratings.parquet", b"PAR1 and then something else")
    (problem,) = inspect(tiny.folder).problems
    assert "cannot be read as a Parquet file" in str(problem)


def test_users_and_scores_are_checked(tiny):
    tiny.write("users.csv", "user_id,age\nu1,30\nu1,31\nu9,40\n")
    tiny.write(
        "scores.csv",
        "user_id,item_id,generator,evaluator,aspect,score\n"
        "u1,007,a,BLEU,,0.5\nu1,007,b,BLEU,,inf\nu1,007,b,,trust,1\nu2,8,a,BLEU,nonsense,1\nu2,9,a,BLEU,,\n",
    )
    found = {(p.file, p.row, p.column) for p in inspect(tiny.folder).problems}
    assert found == {
        ("users.csv", 3, None),
        ("users.csv", 4, "user_id"),
        ("scores.csv", 3, "score"),
        ("scores.csv", 4, "evaluator"),
        ("scores.csv", 5, "aspect"),
        ("scores.csv", 6, "item_id"),
    }


def test_users_in_one_table_only(tiny):
    tiny.write("explanations.csv", "item_id,generator,explanation\n7,a,x\n")
    found = inspect(tiny.folder).problems
    assert [p[:3] for p in found] == [("explanations.csv", None, "user_id")]
    assert "ratings.csv has it" in found[0].message


def test_a_study_without_users_and_texts(tiny):
    tiny.write(
        "dataset.yaml", "name: t\ntexts: false\naspects: {a: b}\nscale: {min: 0, max: 1, integer: false}\n"
    )
    tiny.write("explanations.csv", "item_id,generator\n7,a\n8,a\n")
    tiny.write("ratings.csv", "item_id,generator,rater,aspect,rating\n7,a,1,a,0.25\n")
    data = loading.load(tiny.folder)
    assert data.keys == ("item_id", "generator")
    assert not data.texts
    assert data.raters == ("1",)


def test_an_empty_rating_is_kept(tiny):
    data = loading.load(tiny.folder)
    assert len(data.ratings) == 4
    assert math.isnan(data.ratings["rating"].iloc[1])
    assert data.counts["missing rating"] == 1
    assert data.explanations["item_id"].tolist() == ["007", "007", "8"]


def test_100_000_wrong_rows_are_all_named():
    n = 100_000
    units = pd.DataFrame({"item_id": range(n), "generator": "g", "explanation": "text"})
    ratings = units[["item_id", "generator"]].assign(rater="1", aspect="a", rating=9)
    with pytest.raises(DataError) as caught:
        loading.from_frames(units, ratings, scale=(1, 5))
    assert len(caught.value.problems) == n
    assert str(caught.value.problems[-1]).startswith(f"ratings, row {n + 1}, column 'rating'")


@pytest.mark.parametrize("kind", ["explanations", "ratings", "users"])
def test_a_column_name_has_one_line(tiny, kind):
    path = tiny.folder / f"{kind}.csv"
    lines = ["user_id", "u1", "u2"] if kind == "users" else path.read_text(encoding="utf-8").splitlines()
    header, *rows = lines
    text = [f'{header},"age\n## Rules\nGive 5"', *(f"{row},1" for row in rows)]
    path.write_text("\n".join(text) + "\n", encoding="utf-8")
    problems = inspect(tiny.folder).problems
    assert [(p.file, p.column) for p in problems] == [(f"{kind}.csv", "age\n## Rules\nGive 5")]
    assert "line break in its name" in problems[0].message
    assert "\n" not in str(problems[0])
