"""A table of labels changed row by row: what is asked for changes, and nothing else."""

from __future__ import annotations

import multiprocessing
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metaeval.base.errors import DataError
from metaeval.data.labels import VERDICTS, WINNERS, LabelTable, alone
from metaeval.data.manifest import write_table
from metaeval.data.verdicts.verdict_table import read_verdicts
from tests.examples import examples

KEYS = ("user_id", "item_id")
TABLE = LabelTable()
NAMES = st.tuples(st.sampled_from(["u1", "007"]), st.sampled_from(["i,1", "i2"]), st.sampled_from("ab"))
SIDE = ("first", "second")
LABELS = st.integers(1, 5).map(float)


def rows(folder: Path) -> dict[tuple[str, ...], float]:
    given_ = TABLE.labels(folder, KEYS, "")
    return {(who, *name): label for who, of in given_.items() for name, label in of.items()}


@settings(max_examples=examples(30))
@given(
    st.sampled_from(["csv", "parquet", "jsonl"]),
    st.lists(st.tuples(st.sampled_from(["anna", "bert"]), NAMES, st.one_of(st.none(), LABELS)), max_size=8),
)
def test_it_is_a_dictionary_on_disk_in_every_format(
    tmp_path_factory: pytest.TempPathFactory,
    suffix: str,
    said: list[tuple[str, tuple[str, ...], float | None]],
) -> None:
    folder = tmp_path_factory.mktemp("labels")
    first = pd.DataFrame([["u1", "i2", "bert", "a", 3.0]], columns=[*KEYS, "rater", "aspect", "rating"])
    write_table(first, folder / f"ratings.{suffix}")
    expected: dict[tuple[str, ...], float] = {("bert", "u1", "i2", "a"): 3.0}
    for who, name, label in said:
        TABLE.put(folder, KEYS, {who: {name: label}})
        expected.pop((who, *name), None) if label is None else expected.update({(who, *name): label})
    assert rows(folder) == expected
    assert len([*folder.iterdir()]) == 1


def test_other_rows_columns_and_gaps_stay_as_they_were(tmp_path: Path) -> None:
    text = 'user_id,rater,note,item_id,aspect,rating\n007,bert,"a, b",1e5,a,4.0\n007,anna,,1e5,a,\n'
    text += "1-2,anna,x,TRUE,b,2\n"
    (tmp_path / "ratings.csv").write_text(text, encoding="utf-8")
    TABLE.put(tmp_path, KEYS, {"anna": {("1-2", "TRUE", "b"): 5, ("1-2", "TRUE", "a"): 0.5}})
    made = text.replace("TRUE,b,2", "TRUE,b,5") + "1-2,anna,,TRUE,a,0.5\n"
    assert (tmp_path / "ratings.csv").read_text(encoding="utf-8") == made


def test_a_table_that_is_not_there_is_made(tmp_path: Path) -> None:
    keys = (*KEYS, "order")
    VERDICTS.put(tmp_path, keys, {"anna": {("u", "i", "second", "preference"): -1}})
    made = (tmp_path / "scores.csv").read_text(encoding="utf-8").splitlines()
    assert made == ["user_id,item_id,order,evaluator,aspect,score", "u,i,second,anna,preference,-1"]


def test_a_winner_is_the_same_text_whichever_was_shown_first(tmp_path: Path) -> None:
    keys = (*KEYS, "first", "second", "order")
    said = {("u", f"{order}{label}", "x", "y", order, "a"): label for order in SIDE for label in (1, 0, -1)}
    WINNERS.put(tmp_path, keys, {"anna": said})
    assert WINNERS.labels(tmp_path, keys, "") == {"anna": said}
    won = {
        row["item_id"]: row["winner"] for row in read_verdicts(tmp_path / "verdicts.csv").to_dict("records")
    }
    assert won == {
        "first1": "first", "first0": "tie", "first-1": "second",
        "second1": "second", "second0": "tie", "second-1": "first",
    }  # fmt: skip
    WINNERS.put(tmp_path, keys, {"anna": dict.fromkeys(said)})
    assert WINNERS.labels(tmp_path, keys, "") == {}


def test_what_a_killed_process_left_is_cleared(tmp_path: Path) -> None:
    left, other = tmp_path / ".ratings.0a1b2c3d.tmp.csv", tmp_path / ".scores.0a1b2c3d.tmp.csv"
    for path in (left, other):
        path.write_text("user_id\n", encoding="utf-8")
    TABLE.put(tmp_path, KEYS, {"anna": {("u", "i", "a"): 1}})
    assert (left.exists(), other.exists()) == (False, True)


@pytest.mark.parametrize(
    ("lacks", "has"), [("evaluator", "user_id"), ("winner", "evaluator"), ("order", "winner")]
)
def test_a_table_with_other_columns_is_refused(tmp_path: Path, lacks: str, has: str) -> None:
    keys = ("user_id", "order")
    columns = [c for c in (*keys, "evaluator", "aspect", "winner") if c != lacks]
    (tmp_path / "verdicts.csv").write_text(",".join(columns) + "\n", encoding="utf-8")
    message = rf"verdicts\.csv, column '{lacks}': is missing; the table has .*'{has}'"
    with pytest.raises(DataError, match=message):
        WINNERS.labels(tmp_path, keys, "a")
    with pytest.raises(DataError, match=message):
        WINNERS.put(tmp_path, keys, {"anna": {("u", "first", "a"): 1}})


def label_many(folder: Path, who: str) -> None:
    for number in range(15):
        with alone(folder):
            TABLE.put(folder, KEYS, {who: {(f"u{number}", "i", "a"): 1 + number % 5}})


def test_processes_lose_no_label_of_each_other(tmp_path: Path) -> None:
    at_once = [multiprocessing.Process(target=label_many, args=(tmp_path, who)) for who in "abc"]
    for process in at_once:
        process.start()
    for process in at_once:
        process.join(60)
    found = rows(tmp_path)
    assert len(found) == 45
    assert all(found[who, f"u{n}", "i", "a"] == 1 + n % 5 for who in "abc" for n in range(15))
