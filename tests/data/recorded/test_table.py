"""A plain table of scores, long or wide."""

from __future__ import annotations

import json
import math

import pandas as pd
import pytest

import metaeval as me
from metaeval.base.errors import DataError
from metaeval.kinds.explanations.data import loading
from metaeval.kinds.explanations.data.recorded import add_scores
from tests.data.recorded.conftest import cells, statuses

LONG = """\
user_id,item_id,generator,evaluator,aspect,score
u1,007,a,fine,clarity,0.1
u1,007,b,fine,clarity,
u1,007,a,rough,,3
u1,007,b,rough,,4
u2,8,a,rough,,5
"""
WIDE = """\
who,what,generator,sim clarity,sim TR,other (x)
u1,007,a,0.25,1,7
u1,007,b,n/a,2,8
"""
WIDE_MAP = """\
units: {user_id: who, item_id: what}
aspects: {trust: TR}
missing: ["n/a"]
scores:
  - columns: ["{evaluator} {aspect}", "{evaluator} {code}"]
    where: {evaluator: [sim]}
  - columns: "{evaluator} (x)"
"""


@pytest.fixture
def data(tiny):
    return loading.load(tiny.folder)


@pytest.fixture
def add(data, tmp_path):
    def _add(table, score_map="", suffix=".csv", **options):
        path = tmp_path / f"table{suffix}"
        path.write_text(table, encoding="utf-8")
        if score_map:
            (tmp_path / "map.yaml").write_text(score_map, encoding="utf-8")
            options["map_file"] = tmp_path / "map.yaml"
        return add_scores(data, path, tool="table", **options)

    return _add


def problems(add, *arguments, **options):
    with pytest.raises(DataError) as caught:
        add(*arguments, **options)
    return [(p.file, p.row, p.column) for p in caught.value.problems], str(caught.value)


def test_a_long_table_needs_no_map(add):
    made = add(LONG)
    assert cells(made, "rough") == {("007", "a", ""): 3.0, ("007", "b", ""): 4.0, ("8", "a", ""): 5.0}
    assert cells(made, "fine")["007", "a", "clarity"] == 0.1
    assert math.isnan(cells(made, "fine")["007", "b", "clarity"])


def test_a_wide_table_by_a_map(add):
    made = add(WIDE, WIDE_MAP)
    assert cells(made, "sim")["007", "a", "clarity"] == 0.25
    assert cells(made, "sim")["007", "b", "trust"] == 2.0
    assert cells(made, "other")["007", "b", ""] == 8.0
    assert math.isnan(cells(made, "sim")["007", "b", "clarity"])


def test_one_score_a_row_of_an_evaluator_that_is_named(add):
    table = "user_id,item_id,generator,score,model\nu1,007,a,1,x\nu2,8,a,2,x\n"
    assert cells(add(table, evaluator="mine"), "mine") == {("007", "a", ""): 1.0, ("8", "a", ""): 2.0}
    assert set(add(table, evaluator="by {model}").scores["evaluator"]) == {"by x"}
    _, said = problems(add, table, evaluator="by {modell}")
    assert "needs the column 'modell', which table.csv does not have; did you mean 'model'?" in said
    _, said = problems(add, table)
    assert "name the evaluator with --evaluator" in said


def test_whole_numbers_name_the_same_items_as_text(add):
    rows = '{"user_id": "u2", "item_id": 8, "generator": "a", "evaluator": "e", "score": 1}\n'
    assert cells(add(rows, suffix=".jsonl"), "e") == {("8", "a", ""): 1.0}
    rows = rows.replace("8,", "8.0,") + rows.replace("u2", "u1").replace("8,", '"007",')
    assert set(cells(add(rows, suffix=".jsonl"), "e")) == {("8", "a", ""), ("007", "a", "")}
    assert problems(add, rows.replace("8.0", "8.5"), suffix=".jsonl")[0] == [("table.jsonl", 1, "item_id")]
    assert problems(add, rows.replace("8.0", "[8]"), suffix=".jsonl")[0] == [("table.jsonl", 1, "item_id")]
    assert problems(add, rows.replace("8.0", "true"), suffix=".jsonl")[0] == [("table.jsonl", 1, "item_id")]


def test_a_key_with_one_value_need_not_be_there(tiny):
    tiny.write("explanations.csv", "user_id,item_id,generator,explanation\nu1,007,a,One\nu2,8,a,Two\n")
    tiny.write("ratings.csv", "user_id,item_id,generator,rater,aspect,rating\nu1,007,a,user,trust,4\n")
    path = tiny.folder.parent / "t.csv"
    path.write_text("user_id,item_id,evaluator,score\nu1,007,e,3\n")
    made = add_scores(loading.load(tiny.folder), path, tool="table")
    assert cells(made, "e") == {("007", "a", ""): 3.0}
    path.write_text("item_id,generator,evaluator,score\n007,a,e,3\n")
    with pytest.raises(DataError, match=r"t\.csv, column 'user_id': is missing; say where it stands"):
        add_scores(loading.load(tiny.folder), path, tool="table")


WRONG = {
    "no such user": ("u2,8", "u9,8", [(6, "user_id")], "is 'u9', which is no user_id of the data set"),
    "no such unit": ("u2,8", "u1,8", [(6, None)], "there is no unit (user_id 'u1', item_id '8'"),
    "an empty key": ("u2,8", ",8", [(6, "user_id")], "is ''"),
    "not a number": ("rough,,5", "rough,,five", [(6, "score")], "'five'"),
    "no evaluator": ("u2,8,a,rough", "u2,8,a,", [(6, "evaluator")], "is empty"),
    "unknown aspect": ("fine,clarity,0.1", "fine,clarty,0.1", [(2, "aspect")], "did you mean 'clarity'"),
    "two scores": ("u2,8,a", "u1,007,b", [(6, "score")], "is 5.0 here and 4.0 in row 5"),
    "a wrong column": (",score", ",scor", [(None, "score")], "did you mean 'scor'"),
    "ragged": ("rough,,5", "rough,5", [(6, None)], "too few"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_named_by_row(add, case):
    old, new, where, part = WRONG[case]
    assert old in LONG
    found, said = problems(add, LONG.replace(old, new))
    assert found == [("table.csv", row, column) for row, column in where]
    assert part in said


MAPS = {
    "unknown key": ("missing:", "mising:", "line 3: unknown key 'mising'; did you mean 'missing'"),
    "no such aspect": ("trust: TR", "thrust: TR", "no aspect 'thrust'; did you mean 'trust'"),
    "one name for two": ("trust: TR", "trust: clarity", "'clarity' is two aspects"),
    "no such key": ("user_id: who", "usr_id: who", "'usr_id' is no key; did you mean 'user_id'"),
    "no such column": (
        "user_id: who",
        "user_id: woh",
        "column 'woh' is not in table.csv; did you mean 'who'",
    ),
    "no such score": ("(x)", "(y)", "no column of the table fits the pattern"),
}


@pytest.mark.parametrize("case", MAPS)
def test_a_wrong_map_is_one_sentence(add, case):
    old, new, part = MAPS[case]
    assert old in WIDE_MAP
    assert part in problems(add, WIDE, WIDE_MAP.replace(old, new))[1]


def test_scores_of_metaeval_itself_keep_their_reasons(data, tmp_path):
    table = me.score(data, ["Length()"]).frame
    table.loc[0, ["score", "status"]] = [math.nan, "refused"]
    path = tmp_path / "scores.parquet"
    table.to_parquet(path)
    made = add_scores(data, path, tool="table")
    first = (table["item_id"][0], table["generator"][0], table["aspect"][0])
    assert statuses(made, "Length()")[first] == "refused"
    assert list(statuses(made, "Length()").values()).count("ok") == len(table) - 1


def test_a_row_of_nobody_and_nothing_is_no_score(add):
    made = add(f"{LONG}u2,8,a,,,\n")
    assert cells(made, "rough") == {("007", "a", ""): 3.0, ("007", "b", ""): 4.0, ("8", "a", ""): 5.0}


@pytest.mark.parametrize(
    ("cell", "said"), [("1" + "0" * 400, "is inf"), ('"\\ud800"', "surrogates not allowed")]
)
def test_json_that_is_no_number_or_text_is_refused(add, cell, said):
    row = '{"user_id": "u1", "item_id": "007", "generator": "a", "evaluator": "fine", "score": %s}'
    assert said in problems(add, f"[{row % cell}]", suffix=".json")[1]


FIVE = [
    {"user_id": u, "item_id": i, "generator": g, "evaluator": e, "score": s}
    for u, i, g, e, s in [("u1", "007", "a", "x", 1.5), ("u1", "007", "b", "x", 2), ("u2", "8", "a", "x", 3)]
]
SCORED = {("007", "a", ""): 1.5, ("007", "b", ""): 2, ("8", "a", ""): 3}


@pytest.mark.parametrize(
    "container", ["a.csv", "sep=.csv", "decimal.csv", "a.txt", "a.ndjson", "a.xlsx", "b.xlsx#GPT"]
)
def test_scores_are_read_from_every_container_of_tables(data, tmp_path, container):
    frame, path = pd.DataFrame(FIVE), tmp_path / container.partition("#")[0]
    match container:
        case "sep=.csv":
            path.write_text("sep=;\n" + frame.to_csv(sep=";", index=False), encoding="utf-8")
        case "decimal.csv":
            frame.to_csv(path, sep=";", decimal=",", index=False)
        case "a.csv" | "a.txt":
            frame.to_csv(path, sep=" " if path.suffix == ".txt" else ";", index=False)
        case "a.ndjson":
            frame.to_json(path, orient="records", lines=True)
        case _:
            with pd.ExcelWriter(path) as book:
                for sheet in ["People", "GPT"][path.stem == "a" :]:
                    (frame if sheet == "GPT" else frame[["user_id"]]).to_excel(
                        book, sheet_name=sheet, index=False
                    )
    made = add_scores(data, tmp_path / container, tool="table")
    assert cells(made, "x") == SCORED
    assert made.extra["recorded_from"]["x"]["file"] == container


@pytest.mark.parametrize(
    ("score_map", "found"),
    [
        ("where: {generator: [a]}", {("007", "a", ""): 1.5, ("8", "a", ""): 3}),
        ("rename: {score: {'1.5': 4, '2.0': null}}", {("007", "a", ""): 4, ("8", "a", ""): 3}),
        ("aspects: [clarity]", SCORED),
        (
            "units: {generator: {constant: a}}\nwhere: {generator: [a]}",
            {("007", "a", ""): 1.5, ("8", "a", ""): 3},
        ),
    ],
)
def test_a_map_of_scores_has_the_words_of_a_map_of_ratings(add, score_map, found):
    made = cells(add(pd.DataFrame(FIVE).to_csv(index=False), score_map), "x")
    assert {key: score for key, score in made.items() if not math.isnan(score)} == found


def test_lists_of_scores_become_rows(add):
    keys = ("user_id", "item_id", "generator")
    nested = [{k: row[k] for k in keys} | {"said": [{"by": "x", "v": row["score"]}]} for row in FIVE]
    score_map = "explode: said\nscores: [{columns: said.v, evaluator: {column: said.by}}]"
    assert cells(add(json.dumps(nested), score_map, ".json"), "x") == SCORED


def test_a_row_keeps_its_reason_where_a_map_leaves_rows_out(add):
    table = pd.DataFrame(FIVE).assign(status=["ok", "refused", "ok"])
    table.loc[1, "score"] = None
    made = add(table.to_csv(index=False), "where: {item_id: ['007']}")
    assert statuses(made, "x")["007", "b", ""] == "refused"
