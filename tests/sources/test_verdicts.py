"""Recorded verdicts of other judges, imported by a map."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd
import pytest

from metaeval.base.errors import DataError, sound
from metaeval.base.validation import read_model
from metaeval.sources.verdict_map import VerdictMap
from metaeval.sources.verdicts import import_verdicts, kept_columns, read_verdicts

if TYPE_CHECKING:
    from pathlib import Path

MAP = """\
units: {item_id: [set, id]}
evaluator: [judge, prompt]
pair: [x, y]
order: {column: swapped, first: "no", second: "yes"}
winner: {column: winner, first: A, second: [B, b2], tie: C, missing: [error]}
gold: {file: gold.jsonl, column: best, first: 1, second: 2}
keep: [set]
"""
ROWS = """\
set,id,judge,prompt,swapped,winner
s,1,J,p,no,A
s,1,J,p,yes,b2
s,2,J,p,no,error
s,2,J,p,Yes,
t,1,J,p,no,c
t,1,J,p,yes,A
"""
GOLD = '{"set": "s", "id": 1, "best": 2}\n{"set": "s", "id": 2, "best": 1}\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "map.yaml").write_text(MAP, encoding="utf-8")
    (tmp_path / "verdicts.csv").write_text(ROWS, encoding="utf-8")
    (tmp_path / "gold.jsonl").write_text(GOLD, encoding="utf-8")
    return tmp_path


def imported(folder: Path, winner_of: str = "unswapped") -> pd.DataFrame:
    return import_verdicts(folder / "verdicts.csv", folder / "map.yaml", winner_of=winner_of)  # type: ignore[arg-type]


def test_a_table_and_a_map_make_verdicts(folder: Path) -> None:
    found = imported(folder)
    assert found["item_id"].tolist() == ["s/1", "s/1", "s/2", "s/2", "t/1", "t/1"]
    assert set(found["evaluator"]) == {"J p"}
    assert set(zip(found["first"], found["second"], strict=True)) == {("x", "y")}
    assert found["order"].tolist() == ["first", "second"] * 3
    assert found["winner"].tolist() == ["first", "second", "", "", "tie", "first"]
    assert found["status"].tolist() == ["ok", "ok", "missing", "missing", "ok", "ok"]
    assert found["gold"].tolist() == ["second", "second", "first", "first", "", ""]
    assert kept_columns(found) == ["set"]


def test_what_was_shown_is_turned_back_and_ties_stay(folder: Path) -> None:
    unswapped, shown = imported(folder), imported(folder, "shown")
    # The same words name the other side wherever the second was shown first, and only there.
    assert shown["winner"].tolist() == ["first", "first", "", "", "tie", "second"]
    pd.testing.assert_frame_equal(shown.drop(columns="winner"), unswapped.drop(columns="winner"))


def test_sides_by_columns_are_put_in_the_order_of_their_names(folder: Path) -> None:
    (folder / "map.yaml").write_text(
        MAP.replace("pair: [x, y]", "pair: {first: m1, second: m2}").replace(
            "gold: {file: gold.jsonl, ", "gold: {"
        )
    )
    (folder / "verdicts.csv").write_text(
        "set,id,judge,prompt,swapped,winner,m1,m2,best\n"
        "s,1,J,p,no,A,zeta,beta,1\n"
        "s,1,J,p,yes,C,zeta,beta,1\n"
        "s,2,J,p,no,A,alpha,beta,2\n"
    )
    found = imported(folder)
    assert found["first"].tolist() == ["beta", "beta", "alpha"]
    assert found["second"].tolist() == ["zeta", "zeta", "beta"]
    assert found["order"].tolist() == ["second", "first", "first"]
    assert found["winner"].tolist() == ["second", "tie", "first"]
    assert found["gold"].tolist() == ["second", "second", "second"]


@pytest.mark.parametrize("suffix", ["csv", "parquet", "jsonl"])
def test_what_was_written_is_read_again(folder: Path, suffix: str) -> None:
    from metaeval.study.steps import write_frame

    out = folder / f"out.{suffix}"
    made = imported(folder)
    write_frame(made, out)
    pd.testing.assert_frame_equal(read_verdicts(out), made, check_dtype=False)


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        (
            "s,1,J,p,no,A",
            "s,1,J,p,no,D",
            "row 2, column 'winner': is 'D'; the map knows a, b, b2, c, error, empty",
        ),
        ("s,1,J,p,yes,b2", "s,1,J,p,maybe,b2", "row 3, column 'swapped': is 'maybe'; the map knows no, yes"),
        ("s,1,J,p,yes,b2", "s,1,J,p,no,b2", "row 3: is a second verdict on the same pair in the same order"),
        ("s,1,J,p,no,A", "s,1,,p,no,A", "row 2, column 'judge': is empty"),
        ("set,id,judge", "set,id,juge", "no column 'judge'; did you mean 'juge'"),
    ],
)
def test_what_is_wrong_with_a_table_is_said(folder: Path, before: str, after: str, message: str) -> None:
    (folder / "verdicts.csv").write_text(ROWS.replace(before, after), encoding="utf-8")
    with pytest.raises(DataError) as caught:
        imported(folder)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("pair: [x, y]", "pair: [x, x]", "line 3: pair: must hold two different names"),
        ("tie: C", "tie: a", "the word 'a' has two meanings"),
        ("keep: [set]", "keep: [winner]", "cannot keep a column called 'winner'"),
        ("units: {item_id", "units: {itemid", "line 1: units: holds 'itemid'; did you mean 'item_id'"),
        ("keep:", "kept:", "unknown key 'kept'; did you mean 'keep'"),
        ("gold.jsonl", "gold.csv", "there is no file"),
    ],
)
def test_what_is_wrong_with_a_map_is_said(folder: Path, before: str, after: str, message: str) -> None:
    (folder / "map.yaml").write_text(MAP.replace(before, after), encoding="utf-8")
    with pytest.raises(DataError, match=message) as caught:
        imported(folder)
    assert "\n" not in str(caught.value)


def test_gold_that_contradicts_itself_is_said(folder: Path) -> None:
    (folder / "gold.jsonl").write_text(GOLD + '{"set": "s", "id": 1, "best": 1}\n', encoding="utf-8")
    with pytest.raises(DataError, match="row 3, column 'best': differs"):
        imported(folder)


def test_words_are_read_as_yaml_has_them(folder: Path) -> None:
    (folder / "map.yaml").write_text(MAP.replace('first: "no", second: "yes"', "first: false, second: true"))
    how = sound(read_model(folder / "map.yaml", VerdictMap))
    assert how.order.meanings == {"false": "first", "true": "second"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "item_id,first,second,evaluator,order\n1,a,b,j,first\n",
            "no column 'winner'; make a file of verdicts",
        ),
        ("item_id,first,second,evaluator,order,winner\n1,a,b,j,first,a\n", "row 2, column 'winner': is 'a'"),
        (
            "item_id,first,second,evaluator,order,winner\n,a,b,j,first,tie\n",
            "row 2, column 'item_id': is empty",
        ),
    ],
)
def test_a_file_that_holds_no_verdicts_is_said(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "v.csv").write_text(text, encoding="utf-8")
    with pytest.raises(DataError) as caught:
        read_verdicts(tmp_path / "v.csv")
    assert message in str(caught.value)
