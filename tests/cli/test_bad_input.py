"""Kinds of bad input: one sentence on stderr, exit code 2, nothing half-written."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import pytest

from metaeval.cli import main
from tests.tiny import MANIFEST, write_study


class Case(NamedTuple):
    """A kind of bad input."""

    name: str
    command: str
    says: str
    prepare: Callable[[], object] = lambda: None


def study(**keys: str) -> Callable[[], object]:
    return lambda: write_study(Path("s.yaml"), **keys)


def text(file: str, content: str | bytes) -> Callable[[], object]:
    data = content.encode() if isinstance(content, str) else content
    return lambda: Path(file).write_bytes(data)


def scores(rows: str) -> Callable[[], object]:
    return text("x.csv", f"{HEAD}{rows}\n")


def line_of(file: str, number: int, new: str) -> Callable[[], object]:
    """Replace a line of the data set, counted from 1."""

    def write() -> None:
        path = Path("tiny") / file
        lines = path.read_text(encoding="utf-8").splitlines()
        lines[number - 1 : number] = [new] if new else []
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")

    return write


UNIT = "u1,i1,short"
HEAD = "user_id,item_id,generator,evaluator,aspect,score\n"
RUN = "run s.yaml --out out"
SCORE = "score tiny Length() --out out.csv"
CORRELATE = "correlate tiny x.csv"
CASES = [
    # The study file
    Case("no study file", "run none.yaml --out out", "none.yaml: there is no such file"),
    Case("broken YAML", RUN, "line 2: this is not YAML", text("s.yaml", "dataset: [a\nevaluators: b\n")),
    Case("unknown key", RUN, "line 3: unknown key 'levls'; did you mean 'levels'?", study(levls="[user]")),
    Case("unknown level", RUN, "unknown level 'users'; did you mean 'user'?", study(levels="[users]")),
    Case(
        "fill outside the scale",
        RUN,
        "9 is not on the scale of the ratings (integers from 1 to 5)",
        study(missing="{truth: 9}"),
    ),
    Case("a folder of a data set", "data show .", "'.' is no data set, but 'tiny' in it is one; name that"),
    Case("misspelt evaluator", RUN, "did you mean 'Length'?", study(evaluators="[Lenght()]")),
    Case("unknown truth", RUN, "line 3: ", study(truth="Usr()")),
    Case("all excluded", RUN, "excludes every unit", study(exclude="{user_id: [u1, u2, u3]}")),
    Case("no data set", RUN, "there is no data set 'tiny2'", study(dataset="tiny2")),
    # The data set
    Case(
        "no manifest", "run s.yaml", "dataset.yaml", lambda: (study()(), Path("tiny/dataset.yaml").unlink())
    ),
    Case(
        "unit twice",
        SCORE,
        "explanations.csv, row 3",
        line_of("explanations.csv", 3, f"{UNIT},It is funny.,A reference"),
    ),
    Case(
        "rating outside the scale",
        SCORE,
        "ratings.csv, row 2, column 'rating'",
        line_of("ratings.csv", 2, f"{UNIT},user,clear,6"),
    ),
    Case(
        "column missing",
        SCORE,
        "did you mean",
        line_of("ratings.csv", 1, "user_id,item_id,generator,rater,aspct,rating"),
    ),
    # The steps alone
    Case("misspelt spec", "score tiny BLUE(n=1) --out out.csv", "did you mean 'BLEU'?"),
    Case("unknown suffix", "score tiny Length() --out out.xls", ".csv, .parquet, .jsonl"),
    Case("out is a folder", "score tiny Length() --out tiny", "suffix may be"),
    Case("no scores", "correlate tiny none.csv", "there is no file none.csv"),
    Case(
        "scores without a column",
        CORRELATE,
        "did you mean 'scor'?",
        text("x.csv", HEAD.replace("score", "scor")),
    ),
    Case("score that is text", CORRELATE, "x.csv, row 2, column 'score'", scores(f"{UNIT},E,clear,high")),
    Case("score twice", CORRELATE, "more than one row", scores(f"{UNIT},E,clear,1\n{UNIT},E,clear,2")),
    Case(
        "CSV for duckdb",
        "correlate tiny x.csv --engine duckdb",
        "x.csv is no Parquet file; give",
        text("x.csv", HEAD),
    ),
    Case("a folder of nothing", "correlate tiny tiny", "the folder tiny holds no Parquet file"),
    Case("wrong fill", "correlate tiny x.csv --missing-truth mean", "'mean' is neither a number nor drop"),
    Case("leaderboard of a folder", "leaderboard tiny", "is not a run folder: it has no run.json"),
    # The command line
    Case("unknown command", "rnu s.yaml", "unknown command 'rnu'; did you mean 'run'?"),
    Case("unknown format", "leaderboard out --format pdf", "'pdf' is not one of"),
    Case(
        "leaderboard of a folder with a record that is nested too deep",
        "leaderboard deep",
        "is not JSON; this is not a run folder",
        lambda: (Path("deep").mkdir(), text("deep/run.json", "[" * 90_000)()),
    ),
    Case("out is a file", "run s.yaml --out s.yaml", "s.yaml is a file, not a run folder", study()),
    Case("out holds other files", "run s.yaml --out tiny", "is not a run folder", study()),
]


def state() -> dict[str, str]:
    """Return every file and folder with its content's digest."""
    return {
        str(p): hashlib.sha256(p.read_bytes()).hexdigest() if p.is_file() else "folder"
        for p in Path().rglob("*")
    }


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_bad_input_gets_one_sentence(tiny: Path, capsys: pytest.CaptureFixture[str], case: Case) -> None:
    case.prepare()
    before = state()
    code = main(case.command.split(" "))
    out, err = capsys.readouterr()
    assert case.says in err
    assert code == 2
    assert out == ""
    assert err.startswith("metaeval: ")
    assert err.count("\n") == 1
    assert "Traceback" not in err
    assert state() == before


REFUSED = [
    *(case for case in CASES if case.command == RUN),
    Case("no such annotator", RUN, "no ratings of '9'", study(evaluators="[\"Annotator('9')\"]")),
    Case(
        "a part of an ensemble",
        RUN,
        "no ratings of '9'",
        study(evaluators="[\"Mean(Annotator('1'), Annotator('9'))\"]"),
    ),
    Case("no such scores", RUN, "no scores of 'x'", study(evaluators="[\"Recorded('x')\"]")),
    Case("no key", RUN, "OPENAI_API_KEY is not set", study(evaluators="[\"Judge('openai/m')\"]")),
    Case(
        "the store is a folder",
        RUN,
        "it is a folder; name a file with `judging.store`",
        study(evaluators="[\"Judge('simulated/x')\"]", judging="{store: tiny}"),
    ),
    Case(
        "no references",
        RUN,
        "BLEU(n=4) needs references",
        lambda: (no_references(), write_study(Path("s.yaml"), evaluators='["BLEU(n=4)"]')),
    ),
]


def no_references() -> None:
    path = Path("tiny/explanations.csv")
    pd.read_csv(path).drop(columns="reference").to_csv(path, index=False)


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.name)
def test_what_a_run_refuses_its_dry_run_refuses(
    tiny: Path, capsys: pytest.CaptureFixture[str], case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    case.prepare()
    before = state()
    assert main(["run", "s.yaml", "--out", "out", "--dry-run"]) == 2
    said = capsys.readouterr().err
    assert case.says in said
    assert state() == before
    assert main(["run", "s.yaml", "--out", "out"]) == 2
    assert said.endswith(capsys.readouterr().err)  # a dry run prints first what it can


def test_what_nobody_foresaw_is_one_sentence_with_a_file_that_holds_the_traceback(
    tiny: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(*_: object) -> None:
        raise KeyError("a bug")

    monkeypatch.setattr("metaeval.kinds.scoring.Scoring.whole", fails)
    monkeypatch.setattr("tempfile.tempdir", str(tiny.parent))
    assert main(["score", "tiny", "Length()", "--out", "out.csv"]) == 70
    told = capsys.readouterr().err
    assert told.startswith("metaeval: unexpected KeyError: 'a bug'; what was finished is kept, and the ")
    assert told.count("\n") == 1
    assert "in fails" in Path(told.rpartition(" ")[2].strip()).read_text(encoding="utf-8")


@pytest.mark.slow
def test_what_a_terminal_cannot_print_is_replaced(tiny: Path) -> None:
    (tiny / "dataset.yaml").write_text(MANIFEST.replace("name: tiny", "name: 的\u2014x"), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "metaeval", "data", "show", "tiny"],
        capture_output=True,
        check=False,
        env=os.environ | {"PYTHONIOENCODING": "latin-1"},
    )
    assert (done.returncode, b"?" in done.stdout) == (0, True)
