"""Published studies made again from their files as released; a changed number is found, and named."""

from __future__ import annotations

import contextlib
import io
import json
import shlex
import shutil
from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import pytest

from metaeval.base.errors import MetaevalError
from metaeval.cli import main
from metaeval.study import published
from metaeval.study.ledger import ledger_page, ledger_sheets
from metaeval.study.published import EQUAL, EXPLAINED, OPEN, published_studies, reproduce
from tests.conftest import ROOT

QUICK = ("prd", "evalica_food", "position_bias")
SHIPPED = {path.parent.name for path in (ROOT / "studies" / "published").glob("*/files")}
STUDIES = sorted(path.parent.name for path in (ROOT / "studies" / "published").glob("*/source.yaml"))
EXPLAINED_CELLS = {
    "llmbar": 12,
    "llmjudge": 10,
    "mqm": 5,
    "irr_anxiety": 4,
    "face": 2,
    "alpaca": 9,
    "position_bias": 2,
}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in QUICK else [pytest.mark.slow]) for name in STUDIES]
)
def test_every_cell_is_equal_or_explained(name: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    place = None if name in SHIPPED else request.getfixturevalue("real_data")
    [made], _ = reproduce([name], place, tmp_path)
    explained = EXPLAINED_CELLS.get(name, 0)
    assert made.count(OPEN) == 0
    assert made.count(EXPLAINED) == explained
    assert made.count(EQUAL) == len(made.cells) - explained > 0
    assert (tmp_path / name / "cells.csv").is_file()


@pytest.fixture
def studies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the studies, to change."""
    folder = tmp_path / "studies"
    shutil.copytree(ROOT / "studies" / "published", folder)
    monkeypatch.setattr(published, "bundled", lambda _: folder)
    return folder


@pytest.fixture
def in_one_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the steps of a study here: that another Python runs them is seen of the studies themselves."""

    def run(_: str, steps: Sequence[str], values: dict[str, str], out: Path) -> None:
        with contextlib.chdir(out), contextlib.redirect_stdout(io.StringIO()):
            for step in steps:
                assert main(["--quiet", *(word.format(**values) for word in shlex.split(step))]) == 0

    monkeypatch.setattr(published, "_run", run)


def changed(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


@pytest.mark.usefixtures("in_one_process")
def test_a_changed_number_is_found_and_named(
    studies: Path, real_data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    changed(studies / "prd" / "published.csv", "0.3421875", "0.3421876")
    page = tmp_path / "ledger.md"
    command = ["reproduce", "prd", "--from", str(real_data), "--results", str(tmp_path / "out")]
    assert main([*command, "--page", str(page)]) == 1
    said = " ".join(capsys.readouterr().out.split())
    assert "gpt35 0.3421876 0.3421875" in said
    assert said.startswith("4 of 5 published cells are equal")
    assert "| gpt35 | 0.3421876 | 0.3421875 |" in page.read_text(encoding="utf-8")
    changed(studies / "prd" / "published.csv", "0.3421876,7,1,,", "0.3421876,7,1,a slip of the pen,0.3421875")
    assert main(command) == 0
    assert "a slip of the pen" in " ".join(capsys.readouterr().out.split())


@pytest.mark.usefixtures("in_one_process")
def test_an_open_cell_ends_json_with_1_too(
    studies: Path, real_data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    changed(studies / "prd" / "published.csv", "0.3421875", "0.3421876")
    command = ["--json", "reproduce", "prd", "--from", str(real_data), "--results", str(tmp_path / "out")]
    assert main(command) == 1
    said = json.loads(capsys.readouterr().out)
    assert "and 1 is open" in said["answer"]["lines"][0]
    assert said["ledger"][0]["open"] == 1
    assert [cell["cell"] for cell in said["cells"]] == ["gpt35"]
    assert [row["cells"] for row in said["tables"]] == [5]


def test_a_table_says_whether_its_first_is_shown_to_be_first() -> None:
    """By intervals that do not overlap; ranks count those whose interval reaches that of the first."""

    def row(about: str, series: str, value: float, half: float, unread: float) -> dict[str, object]:
        told = {"study": "s", "table": "t", "cell": about, "published": str(value), "made": str(value)}
        ends = {"low": value - half, "high": value + half, "unread": unread}
        return {**told, "interval": "", "state": EQUAL, "why": "", "about": about, "series": series, **ends}

    values = {"a": 0.9, "b": 0.7, "c": 0.5}
    rows = [row(who, f"half {half}", v, half, 0.02) for half in (0.05, 0.15) for who, v in values.items()]
    source = published.source_of("prd")
    made = published.Reproduced("s", source, pd.DataFrame(rows), "", 1.4)
    _, tables, *_ = ledger_sheets([made])
    [said] = tables.frame.to_dict("records")
    assert (said["intervals"], said["first"]) == ("6 of 6", "in 1 of 2 columns")
    assert (said["ranks"], said["unread"]) == ("1 to 2 of 3", "2.0% at most")
    made.cells.loc[0, "low"] = float("nan")
    assert "| s | t | 6 | 5 of 6 | not shown: a | 1 to 2 of 3 | 2.0% at most |" in ledger_page([made])


def test_files_that_are_not_there_or_not_the_released_ones(
    real_data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(
        MetaevalError,
        match=r"prd: there is no answer_.* in .*; get the files from https://.*--from FOLDER",
    ):
        reproduce(["prd"], tmp_path, tmp_path / "out")
    shutil.copytree(real_data / "llmbar", tmp_path / "llmbar")
    (tmp_path / "llmbar" / "pairs.jsonl").chmod(0o644)
    with (tmp_path / "llmbar" / "pairs.jsonl").open("a", encoding="utf-8") as file:
        file.write("\n")
    with pytest.raises(MetaevalError, match="is not the released file: its SHA-256 differs"):
        reproduce(["llmbar"], tmp_path, tmp_path / "out")
    assert main(["reproduce", "lmbar"]) == 2
    assert "did you mean 'llmbar'" in capsys.readouterr().err
    assert main(["reproduce", "list"]) == 0
    assert capsys.readouterr().out.split() == STUDIES


def test_a_step_that_fails_and_a_cell_that_is_not_there(
    studies: Path, real_data: Path, tmp_path: Path
) -> None:
    changed(studies / "prd" / "published.csv", "generator=gpt35", "generator=none")
    with pytest.raises(
        MetaevalError, match=r"the cell 'gpt35': strengths-ranking.csv has 0 rows with generator=none"
    ):
        reproduce(["prd"], real_data, tmp_path / "out")
    changed(studies / "prd" / "source.yaml", "pairwise verdicts", "pairwisse verdicts")
    with pytest.raises(MetaevalError, match="the step `metaeval pairwisse verdicts"):
        reproduce(["prd"], real_data, tmp_path / "out")


def test_a_study_of_ones_own_is_four_files(studies: Path, tmp_path: Path) -> None:
    """As the page on the ledger says."""
    own = studies / "mine"
    own.mkdir()
    table = "story,system,who,points,tool\n" + "".join(
        f"s{k},m,{who},{1 + (k * n) % 5},{k % 4}\n" for k in range(1, 9) for n, who in ((2, "a"), (3, "b"))
    )
    files = tmp_path / "files" / "mine"
    files.mkdir(parents=True)
    (files / "t.csv").write_text(table, encoding="utf-8")
    digest = published.sha256_of(files / "t.csv")
    (own / "map.yaml").write_text(
        "name: mine\naspects: [clear]\nscale: {min: 1, max: 5}\nunits: {item_id: story, generator: system}\n"
        "ratings: [{columns: points, rater: {column: who}, aspect: clear}]\n",
        encoding="utf-8",
    )
    (own / "study.yaml").write_text(
        "dataset: data\ntruth: Annotator('a')\nevaluators: [\"Annotator('b')\", Random()]\n"
        "levels: [dataset]\ncoefficients: [pearson]\nbootstrap: null\ndetails: false\n",
        encoding="utf-8",
    )
    (own / "source.yaml").write_text(
        "title: Mine\npaper: Nobody, 2026\nrepository: https://example.org\nlicence: none\n"
        f"files: {{t.csv: {digest}}}\n"
        "steps:\n  - data import table {from}/t.csv --map {here}/map.yaml --out data\n"
        "  - run {here}/study.yaml --out run\n",
        encoding="utf-8",
    )
    frame = pd.read_csv(files / "t.csv").pivot_table("points", "story", "who")
    r = frame["a"].corr(frame["b"])
    row = "evaluator=Annotator('b'); aspect=clear; level=dataset; coefficient=pearson"
    (own / "published.csv").write_text(
        f"table,cell,file,row,column,value,digits\n1,r,run/correlations.csv,{row},estimate,{r:.3f},3\n"
        f"1,mean,run/truth.parquet,item_id=s1|s2,mean(rating),{frame['a'].iloc[:2].mean()},9\n"
        f"1,std,run/truth.parquet,,std(rating),{frame['a'].std(ddof=0)},9\n",
        encoding="utf-8",
    )
    assert "mine" in published_studies()
    [made], _ = reproduce(["mine"], tmp_path / "files", tmp_path / "out")
    assert made.count(EQUAL) == 3
    changed(own / "published.csv", "; aspect=clear", "")
    with pytest.raises(MetaevalError, match=r"2 rows with .*; add to it aspect=clear or aspect=average"):
        reproduce([str(own)], tmp_path / "files", tmp_path / "out")
