"""Kinds of bad input: one sentence on stderr, exit code 2, nothing half-written."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from metaeval.cli import main
from tests.tiny import write_study

if TYPE_CHECKING:
    from collections.abc import Callable


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
CASES = [
    # The study file
    Case("no study file", "run none.yaml --out out", "none.yaml: there is no such file"),
    Case("broken YAML", RUN, "line 2: this is not YAML", text("s.yaml", "dataset: [a\nevaluators: b\n")),
    Case("empty study", RUN, "s.yaml is empty", text("s.yaml", "")),
    Case("binary study", RUN, "not UTF-8 text", text("s.yaml", b"\x89PNG\xff\x00")),
    Case("unknown key", RUN, "line 3: unknown key 'levls'; did you mean 'levels'?", study(levls="[user]")),
    Case("key twice", RUN, "line 2: duplicate key", text("s.yaml", "dataset: tiny\ndataset: tiny\n")),
    Case("key missing", RUN, "the key 'evaluators' is missing", study(evaluators="")),
    Case("unknown level", RUN, "unknown level 'users'; did you mean 'user'?", study(levels="[users]")),
    Case("unknown coefficient", RUN, "did you mean 'pearson'?", study(coefficients="[pearsn]")),
    Case("wrong policy", RUN, "is not a number or drop", study(missing="{truth: mean}")),
    Case(
        "fill outside the scale",
        RUN,
        "9 is not on the scale of the ratings (integers from 1 to 5)",
        study(missing="{truth: 9}"),
    ),
    Case(
        "a folder of a study", "run .", "is a folder; give the path of a YAML file, such as s.yaml", study()
    ),
    Case("a folder of a data set", "data show .", "'.' is no data set, but 'tiny' in it is one; name that"),
    Case("wrong type", RUN, "levels must be a list, not 3", study(levels="3")),
    Case("wrong bootstrap", RUN, "bootstrap.resamples", study(bootstrap="{resamples: -5}")),
    Case("unknown aspect", RUN, "no aspect 'cleer'; did you mean 'clear'?", study(aspects="[cleer]")),
    Case("misspelt evaluator", RUN, "did you mean 'Length'?", study(evaluators="[Lenght()]")),
    Case("misspelt argument", RUN, "did you mean 'seed'?", study(evaluators='["Random(sed=1)"]')),
    Case("argument of a wrong type", RUN, "BLEU", study(evaluators="[\"BLEU(n='four')\"]")),
    Case("evaluator of code", RUN, "arguments must be", study(evaluators='["Random(seed=1+1)"]')),
    Case("evaluator twice", RUN, "is twice", study(evaluators="[Length(), Length()]")),
    Case("circle of names", RUN, "defined by itself", study(evaluators='{a: "Mean(b)", b: "Mean(a)"}')),
    Case("unknown annotator", RUN, "has no ratings of '3'", study(evaluators="[\"Annotator('3')\"]")),
    Case("unknown recorded", RUN, "did you mean 'S* star'?", study(evaluators="[\"Recorded('S* str')\"]")),
    Case("unknown truth", RUN, "line 3: ", study(truth="Usr()")),
    Case("truth nobody rated", RUN, "has no ratings of '9'", study(truth="Annotator('9')")),
    Case("excluded unknown", RUN, "no generator 'x'", study(exclude="{generator: [x]}")),
    Case("all excluded", RUN, "excludes every unit", study(exclude="{user_id: [u1, u2, u3]}")),
    Case("no data set", RUN, "there is no data set 'tiny2'", study(dataset="tiny2")),
    # The data set
    Case(
        "no manifest", "run s.yaml", "dataset.yaml", lambda: (study()(), Path("tiny/dataset.yaml").unlink())
    ),
    Case(
        "unit twice",
        "score tiny Length() --out out.csv",
        "explanations.csv, row 3",
        line_of("explanations.csv", 3, f"{UNIT},It is funny.,A reference"),
    ),
    Case(
        "rating outside the scale",
        "score tiny Length() --out out.csv",
        "ratings.csv, row 2, column 'rating'",
        line_of("ratings.csv", 2, f"{UNIT},user,clear,6"),
    ),
    Case(
        "rating of an unknown unit",
        "score tiny Length() --out out.csv",
        "ratings.csv, row 2",
        line_of("ratings.csv", 2, "u9,i1,short,user,clear,3"),
    ),
    Case(
        "rating that is text",
        "score tiny Length() --out out.csv",
        "ratings.csv, row 2, column 'rating'",
        line_of("ratings.csv", 2, f"{UNIT},user,clear,good"),
    ),
    Case(
        "empty text",
        "score tiny Length() --out out.csv",
        "explanations.csv, row 2, column 'explanation'",
        line_of("explanations.csv", 2, f"{UNIT},,A reference"),
    ),
    Case(
        "column missing",
        "score tiny Length() --out out.csv",
        "did you mean",
        line_of("ratings.csv", 1, "user_id,item_id,generator,rater,aspct,rating"),
    ),
    Case(
        "wrong encoding",
        "score tiny Length() --out out.csv",
        "UTF-8",
        lambda: Path("tiny/ratings.csv").write_bytes("é".encode("latin-1") * 9),
    ),
    # The steps alone
    Case("misspelt spec", "score tiny BLUE(n=1) --out out.csv", "did you mean 'BLEU'?"),
    Case("spec without brackets", "score tiny BLEU --out out.csv", "BLEU()"),
    Case("unknown suffix", "score tiny Length() --out out.xls", ".csv, .parquet, .jsonl"),
    Case("out is a folder", "score tiny Length() --out tiny", "suffix may be"),
    Case("no scores", "correlate tiny none.csv", "there is no file none.csv"),
    Case(
        "scores without a column",
        "correlate tiny x.csv",
        "did you mean 'scor'?",
        text("x.csv", HEAD.replace("score", "scor")),
    ),
    Case(
        "score that is text",
        "correlate tiny x.csv --out out.csv",
        "x.csv, row 2, column 'score'",
        text("x.csv", f"{HEAD}{UNIT},E,clear,high\n"),
    ),
    Case(
        "infinite score",
        "correlate tiny x.csv --out out.csv",
        "x.csv, row 2, column 'score'",
        text("x.csv", f"{HEAD}{UNIT},E,clear,inf\n"),
    ),
    Case(
        "score twice",
        "correlate tiny x.csv --out out.csv",
        "more than one row",
        text("x.csv", f"{HEAD}{UNIT},E,clear,1\n{UNIT},E,clear,2\n"),
    ),
    Case("empty evaluator", "correlate tiny x.csv", "is empty", text("x.csv", f"{HEAD}{UNIT},,clear,1\n")),
    Case("scores of nobody", "correlate tiny x.csv", "the scores are empty", text("x.csv", HEAD)),
    Case("scores of others", "correlate tiny x.csv", "u7", text("x.csv", f"{HEAD}u7,i1,short,E,clear,1\n")),
    Case(
        "wrong levels",
        "correlate tiny x.csv --levels usr",
        "'user'",
        text("x.csv", f"{HEAD}{UNIT},E,clear,1\n"),
    ),
    Case(
        "CSV for duckdb",
        "correlate tiny x.csv --engine duckdb",
        "x.csv is no Parquet file; give",
        text("x.csv", HEAD),
    ),
    Case("a folder of nothing", "correlate tiny tiny", "the folder tiny holds no Parquet file"),
    Case("a glob of nothing", "correlate tiny s/*.parquet", "there is no file s/*.parquet"),
    Case("wrong fill", "correlate tiny x.csv --missing-truth mean", "'mean' is neither a number nor drop"),
    Case("leaderboard of no run", "leaderboard none", "there is no run folder none"),
    Case("leaderboard of a folder", "leaderboard tiny", "is not a run folder: it has no run.json"),
    # The command line
    Case("unknown command", "rnu s.yaml", "unknown command 'rnu'; did you mean 'run'?"),
    Case("unknown option", "run s.yaml --outt out", "--out"),
    Case("argument missing", "run", "Missing argument 'STUDY'"),
    Case("option missing", "score tiny Length()", "Missing option '--out'"),
    Case("unknown format", "leaderboard out --format pdf", "'pdf' is not one of"),
    Case("out is a file", "run s.yaml --out s.yaml", "s.yaml is a file, not a run folder", study()),
    Case("out below a file", "run s.yaml --out s.yaml/out", "s.yaml is a file", study()),
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


def test_there_are_more_than_twenty_kinds() -> None:
    assert len({case.name for case in CASES}) == len(CASES) > 20


@pytest.mark.parametrize("name", ["unknown key", "unit twice", "unknown option"])
def test_it_is_so_in_a_process_of_its_own(tiny: Path, name: str) -> None:
    case = next(c for c in CASES if c.name == name)
    case.prepare()
    before = state()
    command = [sys.executable, "-m", "metaeval", *case.command.split(" ")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert case.says in done.stderr
    assert state() == before
