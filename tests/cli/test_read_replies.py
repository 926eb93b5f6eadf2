"""``metaeval data read-replies``, as a user types it."""
# ruff: noqa: PD011 - the values of a reply, not of a frame

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import metaeval as me
from metaeval.base.records import Scale
from metaeval.cli import main
from metaeval.llm.replies.fields import Number
from metaeval.llm.replies.reader import read_reply

ROWS = [
    {"id": 7, "judge": "=1+1", "criterion": "fluency", "reply": "Score: 4"},
    {"id": 8, "judge": "b", "criterion": "depth", "reply": "between 3 and 4"},
    {"id": 9, "judge": "b", "criterion": "depth", "reply": "3.5"},
    {"id": 10, "judge": "b", "criterion": "depth", "reply": None},
]
STATUSES = ["ok", "unparsed", "out_of_range", "missing"]
COMMON = ["data", "read-replies", "--column", "reply", "--scale", "1:5", "--aspect-column"]
COMMAND = "data read-replies r.jsonl --column reply --aspect-column criterion --scale 1:5 --integer --out"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write(Path("r.jsonl"), ROWS)
    return tmp_path


def write(path: Path, rows: list[dict]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


@pytest.mark.slow
def test_real_replies_are_read_as_the_reader_reads_them(real_data: Path, folder: Path) -> None:
    file = real_data / "replies" / "summaries.jsonl"
    given = [json.loads(line) for line in file.read_bytes().splitlines()]
    scale = Scale(1, 5, integer=False)
    expected = [read_reply(row["reply"], [Number(row["aspect"], scale)]) for row in given]
    done = subprocess.run(
        [sys.executable, "-m", "metaeval", "--json", *COMMON, "aspect", "--out", "scores.csv", file],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    told = json.loads(done.stdout)
    assert (told["file"], told["replies"]) == ("scores.csv", 1500)
    assert told["statuses"] == Counter(str(one.status) for one in expected)
    assert told["statuses"]["ok"] > 100
    found = pd.read_csv(folder / "scores.csv")
    assert found.columns.tolist() == ["id", "model", "prompt", "reply", "aspect", "score", "status"]
    assert found["id"].tolist() == [row["id"] for row in given]
    assert found["aspect"].tolist() == [row["aspect"] for row in given]
    assert found["status"].tolist() == [str(one.status) for one in expected]
    scores = [(one.values or {}).get(row["aspect"]) for one, row in zip(expected, given, strict=True)]
    pd.testing.assert_series_equal(found["score"], pd.Series(scores, name="score", dtype=float))


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_every_format_is_read_and_written(suffix: str, capsys: pytest.CaptureFixture[str]) -> None:
    frame = pd.DataFrame(ROWS)
    match suffix:
        case "csv":
            frame.to_csv("r.csv", index=False)
        case "parquet":
            frame.to_parquet("r.parquet")
    out = Path(f"new/scores.{suffix}")
    assert main([*COMMAND.replace("jsonl", suffix).split(), str(out)]) == 0
    counts = "4 replies, 1 ok, 1 unparsed, 1 out_of_range, 1 missing"
    told = capsys.readouterr()
    assert told.out == f"{out}: {counts}\n"
    assert "66.7 % of the replies" in told.err
    read = {"csv": pd.read_csv, "jsonl": lambda p: pd.read_json(p, lines=True), "parquet": pd.read_parquet}
    found = read[suffix](out)
    assert found.columns.tolist() == [*ROWS[0], "aspect", "score", "status"]
    assert found["id"].tolist() == [7, 8, 9, 10]
    assert found["aspect"].tolist() == found["criterion"].tolist() == frame["criterion"].tolist()
    assert found["score"].fillna(0).tolist() == [4, 0, 0, 0]
    assert found["status"].tolist() == STATUSES
    assert found["judge"][0] == ("'=1+1" if suffix == "csv" else "=1+1")


@pytest.mark.parametrize(
    ("pattern", "scores"),
    [
        ("letters", [5, 2, None, None]),
        (r"\[\[(?P<value>\d)\]\]", [None, None, 4, None]),
        ("(a+)+$", [None] * 4),
    ],
)
def test_replies_are_read_by_a_pattern(pattern: str, scores: list[int | None]) -> None:
    replies = ["A. It is clear.", "Grade: D", "Score 1, or rather [[4]]", "a" * 1_000_000 + "b"]
    write(Path("r.jsonl"), [{"reply": reply} for reply in replies])
    how = ["--column", "reply", "--aspect", "depth", "--scale", "1:5", "--integer", "--pattern", pattern]
    assert main(["data", "read-replies", "r.jsonl", *how, "--out", "s.jsonl"]) == 0
    assert [json.loads(line)["score"] for line in Path("s.jsonl").read_text().splitlines()] == scores


@pytest.mark.parametrize("integer", [False, True])
def test_the_command_and_python_have_one_default(integer: bool) -> None:
    """Whole numbers are always read, decimals unless integers are asked for."""
    replies = ["Rating: 2", "Rating: 2.5", "Rating: 0.5", "Rating: 6", "2.5/5", '{"depth": 4.25}', "2,5"]
    write(Path("r.jsonl"), [{"reply": reply} for reply in replies])
    how = ["--column", "reply", "--aspect", "depth", "--scale", "1:5", *(["--integer"] if integer else [])]
    assert main(["data", "read-replies", "r.jsonl", *how, "--out", "s.csv"]) == 0
    table, more = pd.read_csv("s.csv"), {"integer": True} if integer else {}
    alone = [me.read_reply(reply, "depth", **more) for reply in replies]
    assert table["status"].tolist() == [str(one.status) for one in alone]
    assert table["score"].fillna(0).tolist() == [(one.values or {"depth": 0})["depth"] for one in alone]
    frame = me.read_replies(pd.DataFrame({"r": replies}), column="r", aspect="depth", scale=(1, 5), **more)
    assert frame["score"].fillna(0).tolist() == table["score"].fillna(0).tolist()
    read = [2, 0, 0, 0, 0, 0, 0] if integer else [2, 2.5, 0, 0, 2.5, 4.25, 0]
    assert table["score"].fillna(0).tolist() == read


def test_what_was_not_read_is_told_and_bounded(capsys: pytest.CaptureFixture[str]) -> None:
    write(
        Path("r.jsonl"),
        [{"reply": "4" if i > 2 else f"No idea {'abc'[i]}", "on": "xy"[i < 6]} for i in range(20)],
    )
    how = ["--column", "reply", "--aspect-column", "on", "--scale", "1:5", "--out", "s.csv"]
    assert main(["data", "read-replies", "r.jsonl", *how]) == 0
    said = capsys.readouterr().err
    assert "15.0 % of the replies to r.jsonl (3 of 20) could not be read (unparsed 3)" in said
    assert "'No idea a'; 'No idea b'; 'No idea c'" in said
    assert "The loss depends on the aspect (0.0 % at x, 50.0 % at y; p: 0.018)" in said
    assert "mean score is 4.000; it would be 3.550 if all these had been the lowest and 4.150" in said


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (("--column reply", "--column repyl"), "r.jsonl has no column 'repyl'; did you mean 'reply'?"),
        (("criterion", "aspect"), "r.jsonl has no column 'aspect' (it has id, judge, criterion, reply)"),
        (("1:5", "5:1"), "'5:1' is not two rising numbers, such as 1:5"),
        (("--integer", "--pattern ["), "the pattern '[' cannot be used"),
        (("--integer", "--pattern letter"), "'letter' is neither a known pattern (mt-bench,"),
        (("--aspect-column criterion", ""), "give either --aspect or --aspect-column"),
        (("r.jsonl", "none.jsonl"), "there is no file none.jsonl"),
        (
            ("r.jsonl", "nested.jsonl"),
            "row 1, column 'usage': holds a dict; it may hold text or numbers (and 3",
        ),
        (
            ("r.jsonl", "lists.jsonl"),
            "row 1, column 'reply': holds a list; it may hold text or numbers (and 3",
        ),
        (("r.jsonl", "twice.parquet"), "two columns have the name 'reply'; rename one"),
        (("r.jsonl", "scored.jsonl"), "has a column 'score' already, which the result would replace"),
    ],
)
def test_bad_input_is_one_sentence(
    change: tuple[str, str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write(Path("nested.jsonl"), [{**row, "usage": {"tokens": 3}} for row in ROWS])
    write(Path("lists.jsonl"), [{**row, "reply": [4]} for row in ROWS])
    write(Path("scored.jsonl"), [{**row, "score": 4} for row in ROWS])
    pq.write_table(pa.table([["4"], ["5"]], names=["reply", "reply"]), "twice.parquet")
    Path("s.csv").write_text("old\n")
    assert main([*COMMAND.replace(*change).split(), "s.csv"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert says in err
    assert Path("s.csv").read_text() == "old\n"
