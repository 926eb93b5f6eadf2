"""``metaeval golden``, as it is typed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from click.testing import CliRunner, Result

import metaeval as me
from metaeval.base.errors import DataError, MetaevalError
from metaeval.cli import main
from metaeval.cli.golden import golden
from tests.cli.labelling import labelling
from tests.conftest import ROOT
from tests.trust.saving import fill, read_rows


def typed(*arguments: str) -> Result:
    return CliRunner().invoke(golden, list(arguments), catch_exceptions=False)


def test_sample_export_import(tiny: Path) -> None:
    done = typed("sample", "tiny", "--n", "6", "--by", "generator", "--out", "gold")
    assert done.exit_code == 0
    assert done.stdout.splitlines() == [
        "generator long: 2 of 6",
        "generator none|such: 2 of 6",
        "generator short: 2 of 6",
        "gold",
        "Next: metaeval golden label gold --rater NAME",
    ]
    assert (
        typed("sample", "tiny", "--n", "6", "--out", "same").stdout.splitlines()[:3]
        == (done.stdout.splitlines()[:3])
    )
    done = typed("export", "gold", "l.csv", "--rater", "anna", "--aspect", "clear", "--blind")
    assert done.stdout.splitlines() == [
        "l.csv: 6 units to label with integers from 1 to 5; leave a cell empty where you cannot say",
        "clear: I understand why this was recommended",
    ]
    assert read_rows(Path("l.csv"))[0] == ["unit", "explanation", "clear"]
    fill(Path("l.csv"), lambda row, _: str(row % 5 + 1))
    done = typed("import", "gold", "l.csv", "--rater", "anna", "--json")
    said = json.loads(done.stdout)
    assert said["labelled"] == {"clear": 6}
    assert (said["new"], said["replaced"], said["same"]) == (6, 0, 0)


def test_label_serves_a_page_and_goes_on_after_a_kill(tiny: Path) -> None:
    with labelling("golden", "label", "tiny", "--rater", "anna", "--aspect", "clear") as page:
        assert page.ask({"do": "label", "at": 0, "aspect": "clear", "label": 4})["labelled"] == 1
    with labelling("golden", "label", "tiny", "--rater", "anna", "--aspect", "clear") as page:
        assert page.ask({"do": "show"})["unit"]["at"] == 1
        page.ask({"do": "skip", "at": 1})
        assert page.ended() == (0, "labels of 'anna': 1 of 18 units, 1 skipped\n")
    assert (me.load("tiny").ratings["rater"] == "anna").sum() == 1


def test_other_users_do_not_see_the_address_in_the_list_of_processes(tiny: Path) -> None:
    browser = tiny.parent.resolve() / "browser"
    browser.write_text('#!/bin/sh\necho "$@" > "$0.part"\nmv "$0.part" "$0.opened"\n', encoding="utf-8")
    browser.chmod(0o755)
    with labelling("golden", "label", "tiny", "--rater", "anna", browser=browser) as page:
        opened, until = browser.with_suffix(".opened"), time.monotonic() + 30
        while not opened.exists():
            assert time.monotonic() < until
            time.sleep(0.02)
        asked = opened.read_text(encoding="utf-8").strip()
        file = Path(unquote(urlsplit(asked).path))
        secret = urlsplit(page.address).path.strip("/")
        assert len(secret) == 32
        assert asked == file.as_uri()
        assert secret not in asked
        assert f"url={page.address}" in file.read_text(encoding="utf-8")
        assert file.parent.stat().st_mode & 0o077 == 0
        assert page.ended()[0] == 0
    assert not file.parent.exists()


def test_it_is_said_where_labels_go_and_how_to_end(tiny: Path) -> None:
    command = [sys.executable, "-m", "metaeval", "golden", "label", "tiny", "--rater", "anna", "--no-browser"]
    told = "Each label goes into tiny at once. If no browser opens the page, open this address in one. "
    for quiet, said in ([], [f"{told}End with Ctrl-C."]), (["-q"], []):
        with subprocess.Popen(
            [*command, *quiet],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        ) as process:
            assert process.stdout
            assert process.stdout.readline().startswith("http://127.0.0.1:")
            process.send_signal(signal.SIGINT)
            assert process.communicate(timeout=30)[1].splitlines() == said


def test_labels_that_came_with_the_data_are_not_opened_as_ones_own(
    tiny: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = (tiny / "ratings.csv").read_bytes()
    assert main(["golden", "label", "tiny", "--rater", "user", "--no-browser"]) == 2
    said = capsys.readouterr().err
    assert "'user' has 35 labels in tiny that nobody gave on this page; choose another --rater" in said
    assert (tiny / "ratings.csv").read_bytes() == before


def test_labels_may_go_into_a_new_data_set(tiny: Path) -> None:
    typed("export", "tiny", "l.csv", "--rater", "anna", "--aspect", "clear")
    fill(Path("l.csv"), lambda row, _: str(row % 5 + 1))
    before = {p.name: p.read_bytes() for p in tiny.iterdir()}
    done = typed("import", "tiny", "l.csv", "--rater", "anna", "--out", "labelled")
    assert (done.exit_code, done.stdout.splitlines()[-1]) == (0, "18 new, 0 replaced, 0 there already")
    assert {p.name: p.read_bytes() for p in tiny.iterdir()} == before
    assert "anna" in me.load("labelled").raters
    with pytest.raises(DataError, match="labelled"):
        typed("import", "tiny", "l.csv", "--rater", "anna", "--out", "labelled")


def test_the_sample_that_ships_is_read_everywhere_and_written_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert len(me.load("data/sample")) == 528
    Path("l.csv").write_text("unit,accuracy\n", encoding="utf-8")
    with pytest.raises(DataError, match="data/sample"):
        typed("import", "data/sample", "l.csv", "--rater", "anna")
    assert main(["data", "add-scores", "data/sample", "l.csv", "--from", "table"]) == 2


def test_every_problem_is_printed(tiny: Path, capsys: pytest.CaptureFixture[str]) -> None:
    typed("export", "tiny", "l.csv", "--rater", "anna")
    fill(Path("l.csv"), lambda row, _: "9" if row < 2 else "")
    assert main(["golden", "import", "tiny", "l.csv", "--rater", "anna"]) == 2
    said = capsys.readouterr().err
    assert said.count("not on the scale") == 4
    assert "metaeval: l.csv, row 2, column 'clear': the label 9" in said


def test_one_kind_that_fills_the_set_is_told_beside_the_result(tiny: Path) -> None:
    path = tiny / "explanations.csv"
    lines = path.read_text(encoding="utf-8").splitlines()
    kinds = ["kind", *["easy"] * 16, *["hard"] * 2]
    path.write_text("\n".join(f"{a},{b}" for a, b in zip(lines, kinds, strict=True)) + "\n", encoding="utf-8")
    done = typed("sample", "tiny", "--n", "10", "--by", "kind", "--out", "gold", "--json")
    assert json.loads(done.stdout)["strata"][0] == {"kind": "easy", "units": 16, "chosen": 9}
    assert "9 of the 10 units (90%) have the kind 'easy'" in done.stderr
    done = typed("sample", "tiny", "--n", "4", "--by", "kind", "--out", "gold", "--force", "--equal", "-q")
    assert (done.stdout, done.stderr) == ("", "")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ("sample tiny --n 2 --by generator --out gold", "2 units cannot cover the 3 strata by generator"),
        ("sample tny --by generator --out gold", "did you mean 'tiny'"),
        ("sample tiny --n 6 --by , --out gold", "one or more"),
        ("sample tiny --n 6 --by generator --out tiny", "replace it with --force"),
        ("export tiny l.csv --rater anna --aspect cler", "did you mean 'clear'"),
        ("import tiny none.csv --rater anna", "none.csv cannot be read"),
    ],
)
def test_wrong_input_is_one_sentence(tiny: Path, arguments: str, says: str) -> None:
    with pytest.raises(MetaevalError) as error:
        typed(*arguments.split())
    assert says in str(error.value)
    assert "\n" not in str(error.value)
