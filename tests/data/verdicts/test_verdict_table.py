"""Recorded verdicts of other judges, imported by a map."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from metaeval.base.errors import DataError
from metaeval.data.verdicts.verdict_table import import_verdicts, kept_columns, read_verdicts

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
        ("units: {item_id", "units: {itemid", "line 1: the key 'item_id' is missing under 'units'"),
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


def by_map(folder: Path, rows: object, map_text: str, **how: object) -> pd.DataFrame:
    """Write rows as a JSON array and a map, and import them."""
    (folder / "rows.json").write_text(json.dumps(rows), encoding="utf-8")
    (folder / "map.yaml").write_text(map_text, encoding="utf-8")
    return import_verdicts(folder / "rows.json", folder / "map.yaml", **how)  # type: ignore[arg-type]


NESTED = [
    {"id": "1", "label": "A>B", "judgments": [{"decision": "A>B"}, {"decision": "A>B"}]},
    {"id": "2", "label": "B>A", "judgments": [{"decision": "A=B"}, None]},
]
BOTH = """\
columns: {group: id, winner: [judgments.0.decision, judgments.1.decision]}
choices: {first: "A>B", second: "B>A", tie: "A=B"}
pair: [A, B]
gold: {column: label, first: "A>B", second: "B>A"}
"""


def test_a_row_of_nested_json_holds_the_verdicts_of_both_orders(tmp_path: Path) -> None:
    """As JudgeBench publishes them: a decision is about what was shown."""
    shown = by_map(tmp_path, NESTED, BOTH, winner_of="shown")
    assert shown["order"].tolist() == ["first", "first", "second", "second"]
    assert shown["winner"].tolist() == ["first", "tie", "second", ""]
    assert shown["gold"].tolist() == ["first", "second"] * 2
    assert by_map(tmp_path, NESTED, BOTH, winner_of="unswapped")["winner"].tolist()[2] == "first"
    with pytest.raises(DataError, match="say --winner-of shown, or --winner-of unswapped"):
        by_map(tmp_path, NESTED, BOTH)


def test_names_of_winners_are_the_same_in_both_orders(tmp_path: Path) -> None:
    rows = [{"q": 1, "a": "x", "b": "y", "w": "y", "v": "y", "best": "y"}]
    how = "columns: {group: q, first: a, second: b, winner: [w, v]}\ngold: {column: best}\n"
    found = by_map(tmp_path, rows, how)
    assert found[["order", "winner", "gold"]].to_numpy().tolist() == [
        ["first", "second", "second"],
        ["second", "second", "second"],
    ]


REPLIES = [
    {"q": 1, "n": 1, "a": "x", "b": "y", "r": "So: [[A]]", "s": "So: [[A]]"},
    {"q": 1, "n": 2, "a": "x", "b": "y", "r": "[[A]] no, [[B]]", "s": None},
]
COLUMNS = "columns: {group: q, repeat: n, first: a, second: b, reply: [r, s]}\n"


@pytest.mark.parametrize(
    ("how", "second"),
    [
        ("reply: mt-bench", ""),
        (
            r"reply: {pattern: '\[\[(?P<value>A|B)\]\]', take: last}" + "\nchoices: {first: A, second: B}",
            "second",
        ),
        (
            r"reply: {pattern: '\[\[(?P<choice>A|B)\]\]', take: last}" + "\nchoices: {first: A, second: B}",
            "second",
        ),
        (r"reply: {pattern: '\[\[(A|B)\]\]', values: {A: second, B: first}, take: last}", "first"),
        ("choices: {first: A, second: '[[B]]', tie: C}", ""),
    ],
)
def test_replies_are_read_by_the_pattern_that_a_map_states(tmp_path: Path, how: str, second: str) -> None:
    found = by_map(tmp_path, REPLIES, COLUMNS + how)
    turned = "values" in how
    assert found["winner"].tolist() == [
        *(("second", second, "first", "") if turned else ("first", second, "second", ""))
    ]
    assert found["repeat"].tolist() == ["1", "2"] * 2
    assert found["status"].tolist() == ["ok", "ok" if second else "unparsed", "ok", "missing"]
    assert (found["reply"] == "").tolist() == [True, bool(second), True, True]
    assert (found["reason"] == "").tolist() == [True, bool(second), True, False]


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("choices: {first: A, second: a}", "the word 'a' has two meanings"),
        ("choices: {first: A, second: '[[A]]'}", "'choice' has one word for two values"),
        ("reply: g-eval", "choices must say the words of a reply"),
        ("reply: mtbench", "'mtbench' is neither a known pattern"),
        ("reply: '(?P<value>A|B'", "cannot be used"),
    ],
)
def test_choices_that_cannot_be_told_apart_are_refused(tmp_path: Path, how: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        by_map(tmp_path, REPLIES, COLUMNS + how)


KINDS = {
    "mtbench": "reply: mt-bench",
    "judgebench-arena-hard": "reply: arena-hard",
    "summeval-h2h": "choices: {first: A, second: B, tie: C}",
}


@pytest.mark.parametrize("source", KINDS)
def test_real_replies_of_each_kind_are_read_by_one_line(real_data: Path, tmp_path: Path, source: str) -> None:
    """At least 99 % of those with a verdict of the authors, and none otherwise than they do."""
    with gzip.open(real_data / "replies" / "choices.jsonl.gz") as file:
        rows = [row for row in map(json.loads, file) if row["source"] == source]
    columns = "columns: {judge: judge, group: group, first: first, second: second, reply: reply}\n"
    found = by_map(tmp_path, rows, f"{columns}{KINDS[source]}\nkeep: [authors]\n")
    turned = {"first": "second", "second": "first"}
    shown = found["winner"].where(found["order"] == "first", found["winner"].replace(turned))
    known = found["authors"] != ""
    assert (shown[known] != "").mean() >= 0.99
    differ = known & (shown != "") & (shown != found["authors"])
    assert found[differ].empty
    assert (shown[~known] == "").all()
    if source == "judgebench-arena-hard":  # the published decisions, all 540, are those of what was shown
        published = [
            {"A>B": "first", "B>A": "second", "A=B": "tie", None: ""}[r["decision_unswapped"]] for r in rows
        ]
        assert shown.tolist() == published


def test_verdicts_may_have_an_order(tmp_path: Path) -> None:
    rows = "q,a,b,w,t\n0,x,y,x,10\n1,x,y,y,9\n2,x,y,x,2\n"
    (tmp_path / "v.csv").write_text(rows, encoding="utf-8")
    columns = "columns: {group: q, first: a, second: b, winner: w%s}\n%s"
    for said in ((", order: t", ""), ("", "order: t\n")):
        (tmp_path / "m.yaml").write_text(columns % said, encoding="utf-8")
        found = import_verdicts(tmp_path / "v.csv", tmp_path / "m.yaml", winner_of="unswapped")
        assert found["played"].tolist() == ["3", "2", "1"]  # numbers are no text


@pytest.mark.parametrize(
    ("how", "winners"),
    [
        ("columns: {group: item, scores: [s, t]}", ["second", "tie", ""]),
        ("columns: {group: item, winner: won}", ["first", "second", ""]),
        ("columns: {winner: won}\nunits: {item_id: {row: true}}", ["first", "second", ""]),
        ("columns: {group: item, winner: won}\nchoices: {tie: ''}", ["first", "second", "tie"]),
    ],
)
@pytest.mark.parametrize("pair", ["[GPT, Human]", "{first: a, second: b}"])
@pytest.mark.parametrize("container", ["v.csv", "v.xlsx"])
def test_a_verdict_is_two_scores_or_a_name(
    tmp_path: Path, how: str, winners: list[str], pair: str, container: str
) -> None:
    rows = {"item": ["i1", "i2", "i3"], "a": "GPT", "b": "Human", "won": ["GPT", "Human", ""]}
    frame = pd.DataFrame(rows).assign(s=[1, 2, 3], t=[2, 2, None])
    place = tmp_path / container
    if place.suffix == ".csv":
        frame.to_csv(place, sep=";", index=False)
    else:
        frame.to_excel(place, index=False)
    (tmp_path / "map.yaml").write_text(f"pair: {pair}\n{how}\n", encoding="utf-8")
    found = import_verdicts(place, tmp_path / "map.yaml")
    assert found["winner"].tolist() == winners
    assert found["item_id"].tolist() == (["2", "3", "4"] if "row" in how else rows["item"])
    assert {*zip(found["first"], found["second"], strict=True)} == {("GPT", "Human")}


@pytest.mark.parametrize(
    ("how", "cells", "winners"),
    [
        (
            "preference: {column: said, first: 1, second: 2}",
            ["1.2", "2", "1.5", ""],
            ["first", "second", "tie", ""],
        ),
        (
            "preference: {column: said, first: 1, second: 0}",
            ["0.9", "0", "0.5", ""],
            ["first", "second", "tie", ""],
        ),
        (
            "reply: {pattern: '(?P<first>[0-9.]+) (?P<second>[0-9.]+)', take: last}",
            ["I say 8 7.5", "3 10", "7 7.0", "none"],
            ["first", "second", "tie", ""],
        ),
    ],
)
def test_numbers_name_a_winner(tmp_path: Path, how: str, cells: list[str], winners: list[str]) -> None:
    columns = "{first: a, second: b, group: id" + (", reply: said}" if how.startswith("reply") else "}")
    (tmp_path / "map.yaml").write_text(f"columns: {columns}\nlengths: [m, n]\n{how}\n", encoding="utf-8")
    rows = [{"id": i, "a": "x", "b": "w", "said": cell, "m": i, "n": 9} for i, cell in enumerate(cells)]
    pd.DataFrame(rows).to_csv(tmp_path / "v.csv", index=False)
    found = import_verdicts(tmp_path / "v.csv", tmp_path / "map.yaml")
    turned = {"first": "second", "second": "first"}  # the sides are in the order of their names
    assert found["winner"].tolist() == [turned.get(w, w) for w in winners]
    assert set(found["first"]) == {"w"}
    assert found["length_second"].tolist() == ["0", "1", "2", "3"]
    assert set(found["length_first"]) == {"9"}
    if how.startswith("preference"):
        chances = [0.8, 0.0, 0.5, np.nan] if "second: 2" in how else [0.9, 0.0, 0.5, np.nan]
        np.testing.assert_allclose(found["share"], 1 - np.array(chances))
        found.to_csv(tmp_path / "found.csv", index=False)
        pd.testing.assert_series_equal(read_verdicts(tmp_path / "found.csv")["share"], found["share"])


@pytest.mark.parametrize(
    ("cells", "where", "message"),
    [
        ("1.2", "{a: x}", "v.csv, row 2, column 'said': is 2.5; a preference goes from 1 to 2"),
        ("1.2", "{a: y}", "no row of the table has in 'a' the value 'y'"),
        ("1.2", "{c: y}", "the column 'c' is not in the table"),
    ],
)
def test_a_preference_beyond_its_ends_is_refused(
    tmp_path: Path, cells: str, where: str, message: str
) -> None:
    how = "columns: {first: a, second: b, group: id}\npreference: {column: said, first: 1, second: 2}\n"
    (tmp_path / "map.yaml").write_text(f"{how}where: {where}\n", encoding="utf-8")
    (tmp_path / "v.csv").write_text(f"id,a,b,said\n1,x,w,2.5\n2,x,w,{cells}\n3,z,w,7\n", encoding="utf-8")
    with pytest.raises(DataError, match=message) as raised:
        import_verdicts(tmp_path / "v.csv", tmp_path / "map.yaml")
    assert "row 4" not in str(raised.value)  # which `where` leaves out


@pytest.mark.parametrize("share", ["1.5", "0.2", ""])
def test_a_share_goes_with_its_winner(tmp_path: Path, share: str) -> None:
    rows = f"item_id,first,second,evaluator,order,winner,share\n1,a,b,j,first,first,{share}\n"
    (tmp_path / "v.csv").write_text(rows, encoding="utf-8")
    with pytest.raises(DataError, match="row 2, column 'share': does not go with the winner"):
        read_verdicts(tmp_path / "v.csv")


def test_a_preference_has_two_ends(tmp_path: Path) -> None:
    (tmp_path / "map.yaml").write_text(
        "columns: {first: a, second: b}\npreference: {column: said, first: 1, second: 1}\n", encoding="utf-8"
    )
    (tmp_path / "v.csv").write_text("a,b,said\nx,y,1\n", encoding="utf-8")
    with pytest.raises(DataError, match="different numbers"):
        import_verdicts(tmp_path / "v.csv", tmp_path / "map.yaml")


def test_the_names_of_several_files_say_who_played(tmp_path: Path) -> None:
    for name, winners in (("a-vs-b-gpt", "12"), ("b-vs-a-gpt", "31")):
        rows = [f"q{i},{w}" for i, w in enumerate(winners)]
        (tmp_path / f"{name}.csv").write_text("\n".join(["question,said", *rows, ""]), encoding="utf-8")
    how = tmp_path / "map.yaml"
    content = (
        "units: {item_id: question}\n"
        "parts: {file: '(?P<one>.+)-vs-(?P<other>.+)-(?P<judge>.+)'}\n"
        "columns: {judge: judge, first: one, second: other, winner: said, order: {row: true}}\n"
        "choices: {first: '1', second: '2', tie: '3'}\n"
    )
    how.write_text(content, encoding="utf-8")
    found = import_verdicts(tmp_path / "*-gpt.csv", how, winner_of="shown")
    assert found["first"].unique().tolist() == ["a"]
    assert found["order"].tolist() == ["first", "first", "second", "second"]
    assert found["winner"].tolist() == ["first", "second", "tie", "second"]
    assert found["played"].astype(int).is_monotonic_increasing
    assert found["evaluator"].unique().tolist() == ["gpt"]
    with pytest.raises(DataError, match="there is no file"):
        import_verdicts(tmp_path / "*-gpt.tsv", how)
    how.write_text(content.replace("<other>", "<question>"), encoding="utf-8")
    with pytest.raises(DataError, match="the table has a column 'question' already"):
        import_verdicts(tmp_path / "*-gpt.csv", how, winner_of="shown")
    how.write_text(content.replace("file:", "fil:"), encoding="utf-8")
    with pytest.raises(DataError, match="there is no column 'fil'; did you mean 'file'"):
        import_verdicts(tmp_path / "*-gpt.csv", how, winner_of="shown")
    how.write_text(content.replace("<judge>", "<jud ge>"), encoding="utf-8")
    with pytest.raises(DataError, match="parts: cannot be read: bad character in group name"):
        import_verdicts(tmp_path / "*-gpt.csv", how, winner_of="shown")
