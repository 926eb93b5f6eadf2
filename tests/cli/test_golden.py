"""``metaeval golden``, as it is typed."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from click.testing import CliRunner, Result

import metaeval as me
from metaeval.base.errors import DataError, MetaevalError
from metaeval.cli import main
from metaeval.cli.golden import golden
from tests.cli.labelling import labelling
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
        told = "labels of 'anna': 1 of 18 units, 1 skipped\nNext: metaeval init tiny\n"
        assert page.ended() == (0, told)
    assert (me.load("tiny").ratings["rater"] == "anna").sum() == 1


def test_where_labels_go_is_told_once_and_then_the_address_of_each_rater(
    tiny: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def served(*_: object, ready: Callable[..., None], **__: object) -> None:
        ready("http://a/", "http://b/")

    monkeypatch.setattr("metaeval.trust.labelling.pages.label_units", served)
    assert main(["golden", "label", "tiny", "--rater", "anna", "--rater", "bert"]) == 0
    told = capsys.readouterr()
    assert told.err.count("saved before the next is asked for, and stands in the tables of tiny when") == 1
    counts = [f"labels of '{rater}': 0 of 18 units" for rater in ("anna", "bert")]
    assert told.out.splitlines() == ["anna: http://a/", "bert: http://b/", *counts]


def test_other_users_do_not_see_the_address_in_the_list_of_processes(tiny: Path) -> None:
    browser = tiny.parent.resolve() / "browser"
    browser.write_text('#!/bin/sh\necho "$@" > "$0.part"\nmv "$0.part" "$0.opened"\n', encoding="utf-8")
    browser.chmod(0o755)
    with labelling("golden", "label", "tiny", "--rater", "anna", browser=browser) as page:
        opened, until = browser.with_suffix(".opened"), time.monotonic() + 240
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


def test_labels_that_came_with_the_data_are_not_opened_as_ones_own(
    tiny: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = (tiny / "ratings.csv").read_bytes()
    assert main(["golden", "label", "tiny", "--rater", "user", "--no-browser"]) == 2
    said = capsys.readouterr().err
    assert "'user' has 35 labels in tiny that nobody gave on this page; choose another --rater" in said
    assert (tiny / "ratings.csv").read_bytes() == before


def test_the_sample_that_ships_is_read_everywhere_and_written_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert len(me.load("data/sample")) == 528
    Path("l.csv").write_text("unit,accuracy\n", encoding="utf-8")
    with pytest.raises(DataError, match="data/sample"):
        typed("import", "data/sample", "l.csv", "--rater", "anna")
    assert main(["data", "add-scores", "data/sample", "l.csv", "--from", "table"]) == 2


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
