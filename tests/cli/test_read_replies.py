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
    assert capsys.readouterr() == (f"{out}: {counts}\n", "")
    read = {"csv": pd.read_csv, "jsonl": lambda p: pd.read_json(p, lines=True), "parquet": pd.read_parquet}
    found = read[suffix](out)
    assert found.columns.tolist() == [*ROWS[0], "aspect", "score", "status"]
    assert found["id"].tolist() == [7, 8, 9, 10]
    assert found["aspect"].tolist() == found["criterion"].tolist() == frame["criterion"].tolist()
    assert found["score"].fillna(0).tolist() == [4, 0, 0, 0]
    assert found["status"].tolist() == STATUSES
    assert found["judge"][0] == ("'=1+1" if suffix == "csv" else "=1+1")


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_what_a_format_does_not_have_is_written_as_text(suffix: str) -> None:
    times = pd.to_datetime(["2026-01-02 03:04", None])
    frame = pd.DataFrame({"reply": ["4", None], "at": times, "sure": [True, None], "n": [2, None]})
    frame.to_parquet("r.parquet")
    write(Path("r.jsonl"), [{"reply": "4", "seed": 2**64}, {"reply": None, "seed": 7}])
    for file in ("r.parquet", "r.jsonl"):
        how = ["--column", "reply", "--aspect", "fluency", "--scale", "1:5", "--out", f"{file}.{suffix}"]
        assert main(["data", "read-replies", file, *how]) == 0
    if suffix == "jsonl":
        first, second = map(json.loads, Path("r.parquet.jsonl").read_text().splitlines())
        assert (first["at"], first["sure"], first["n"]) == ("2026-01-02 03:04:00", True, 2)
        assert (second["sure"], second["n"], second["status"]) == (None, None, "missing")
        assert json.loads(Path("r.jsonl.jsonl").read_text().splitlines()[0])["seed"] == str(2**64)


def test_a_score_need_not_be_whole(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*COMMAND.replace(" --integer", "").split(), "s.jsonl"]) == 0
    assert "2 ok" in capsys.readouterr().out
    assert [json.loads(line)["score"] for line in Path("s.jsonl").read_text().splitlines()] == [
        4,
        None,
        3.5,
        None,
    ]


def test_an_older_file_is_replaced_and_quiet_is_quiet(capsys: pytest.CaptureFixture[str]) -> None:
    Path("s.csv").write_text("old\n")
    assert main([*COMMAND.split(), "s.csv", "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")
    assert Path("s.csv").read_text().startswith("id,judge,criterion,reply,aspect,score,status\n7,'=1+1,")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (("--column reply", "--column repyl"), "r.jsonl has no column 'repyl'; did you mean 'reply'?"),
        (("criterion", "aspect"), "r.jsonl has no column 'aspect' (it has id, judge, criterion, reply)"),
        (("1:5", "5:1"), "'5:1' is not two rising numbers, such as 1:5"),
        (("1:5", "a:b"), "'a:b' is not two rising numbers"),
        (("1:5", "1"), "'1' is not two rising numbers"),
        (("1:5", "1:inf"), "'1:inf' is not two rising numbers"),
        (("--aspect-column criterion", ""), "give either --aspect or --aspect-column"),
        (("--scale", "--aspect fluency --scale"), "give either --aspect or --aspect-column"),
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


def test_what_cannot_be_written_is_said_before_anything_is_read(capsys: pytest.CaptureFixture[str]) -> None:
    Path("folder.csv").mkdir()
    for out, says in (("s.xlsx", "its suffix may be .csv, .parquet, .jsonl"), ("folder.csv", "is a folder")):
        assert main([*COMMAND.replace("r.jsonl", "none.jsonl").split(), out]) == 2
        assert says in capsys.readouterr().err
