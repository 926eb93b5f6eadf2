"""Everything that can be wrong with a data set is named with its file, row and column."""

from __future__ import annotations

import pytest

from metaeval.base.errors import DataError
from metaeval.kinds.explanations.data import loading
from metaeval.kinds.reading import inspect

EXPLANATIONS, RATINGS, MANIFEST = "explanations.csv", "ratings.csv", "dataset.yaml"
CASES = {
    # name: file, what is in it, what is put there, row and column of the problem, parts of the message
    "duplicate unit": (EXPLANATIONS, "u1,007,b,Another", "u1,007,a,Another", 3, None,
        ["user_id 'u1'", "item_id '007'", "already in row 2"]),
    "above the scale": (RATINGS, "clarity,4", "clarity,6", 2, "rating", ["6", "1 to 5"]),
    "not whole": (RATINGS, "clarity,4", "clarity,4.5", 2, "rating", ["4.5", "integers"]),
    "unknown aspect": (RATINGS, "1,clarity,2", "1,clarty,2", 4, "aspect",
        ["'clarty'", "did you mean 'clarity'"]),
    "unknown item": (RATINGS, "u2,8,a", "u2,88,a", 5, "item_id", ["'88'", "explanations.csv"]),
    "unknown unit": (RATINGS, "u2,8,a", "u2,8,b", 5, None, ["there is no unit", "generator 'b'"]),
    "id is text": (RATINGS, "u1,007,b", "u1,7,b", 4, "item_id", ["'7'"]),
    "duplicate rating": (RATINGS, "u1,007,b,1,clarity,2", "u1,007,a,user,clarity,2", 4, None,
        ["rater 'user'", "already in row 2"]),
    "column missing": (EXPLANATIONS, ",explanation", ",explnation", None, "explanation",
        ["is missing", "did you mean 'explnation'"]),
    "user_id spelt otherwise": (EXPLANATIONS, "user_id", "userid", None, "user_id",
        ["did you mean 'userid'"]),
    "not a number": (RATINGS, "clarity,4", "clarity,good", 2, "rating", ["'good'", "number"]),
    "written NaN": (RATINGS, "clarity,4", "clarity,nan", 2, "rating", ["'nan'", "empty"]),
    "empty key": (EXPLANATIONS, "u1,007,b", "u1, ,b", 3, "item_id", ["is empty"]),
    "empty aspect": (RATINGS, "b,1,clarity", "b,1,", 4, "aspect", ["is empty"]),
    "too few fields": (RATINGS, ",clarity,4", ",4", 2, None, ["5 fields", "6", "too few"]),
    "too many fields": (EXPLANATIONS, '"A text, with a comma"', "A text, with a comma", 4, None,
        ["5 fields", "too many"]),
    "stray quotation mark": (EXPLANATIONS, '"A text, with a comma"', '"A text', 4, None, ["not valid CSV"]),
    "two columns of one name": (RATINGS, "rater,aspect", "aspect,aspect", 1, "aspect", ["two columns"]),
    "average as an aspect": (MANIFEST, "trust:", "average:", None, None, ["line 2", "'average'"]),
    "unknown key": (MANIFEST, "name: tiny", "name: tiny\nlicense: MIT", None, None,
        ["line 2", "'license'", "did you mean 'licence'"]),
    "unknown key of the scale": (MANIFEST, "max: 5", "max: 5, intege: true", None, None,
        ["line 5", "did you mean 'integer'"]),
    "key missing": (MANIFEST, "name: tiny\n", "", None, None, ["'name' is missing"]),
    "scale upside down": (MANIFEST, "min: 1, max: 5", "min: 5, max: 1", None, None,
        ["line 5", "must be below"]),
    "not YAML": (MANIFEST, "name: tiny", "name: [tiny", None, None, ["line", "not YAML"]),
    "wrong type": (MANIFEST, "name: tiny", "name: 7", None, None,
        ["line 1", "name must be text, not 7", "quotes"]),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_wrong_cell_is_named(tiny, case):
    file, old, new, row, column, parts = CASES[case]
    assert inspect(tiny.folder).problems == ()
    tiny.replace(file, old, new)
    problems = inspect(tiny.folder).problems
    assert (file, row, column) in [p[:3] for p in problems]
    said = next(str(p) for p in problems if p[:3] == (file, row, column))
    for part in parts:
        assert part in said
    with pytest.raises(DataError) as caught:
        loading.load(tiny.folder)
    assert caught.value.problems == tuple(problems)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("blank", ["", "  ", "\N{NO-BREAK SPACE}"])
def test_an_empty_text_is_a_unit_if_people_rated_it(tiny, blank):
    tiny.replace(EXPLANATIONS, "One text", blank)
    data = inspect(tiny.folder).data
    assert (len(data), data.counts["empty text"], data.explanations["explanation"][0]) == (3, 1, blank)
    assert loading.load(data.save(tiny.folder / "again", "csv")).fingerprint == data.fingerprint
    tiny.replace(RATINGS, "clarity,4", "clarity,")  # asked and not answered
    (problem,) = inspect(tiny.folder).problems
    assert str(problem) == (
        "explanations.csv, row 2, column 'explanation': is empty, and nobody rated it; it needs a text"
    )


def test_a_row_is_counted_as_a_spreadsheet_does(tiny):
    """A line break inside a cell makes no row, a blank line does."""
    tiny.replace("explanations.csv", "One text", '"One\ntext"')
    tiny.replace("explanations.csv", "u2,8,a", "\nu2,8,")
    assert [(p.row, p.column) for p in inspect(tiny.folder).problems if p.file == "explanations.csv"] == [
        (5, "generator")
    ]


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
