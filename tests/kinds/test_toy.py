"""A kind of study that the package has never heard of, through every step; a server answers its judges."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

from metaeval.cli import main
from metaeval.kinds import index as kinds
from tests.kinds import toy
from tests.llm.server import Act, Server, serving
from tests.reports.report.conftest import browser  # noqa: F401 - a fixture

if TYPE_CHECKING:
    from playwright.sync_api import Browser

N = 48
NUMBERS = np.arange(N)
EVEN = NUMBERS % 2 == 0
WRONG = {"good": NUMBERS % 8 == 0, "weak": NUMBERS % 3 == 0}
STUDY = """\
kind: yes-no
name: numbers
dataset: data
truth: Annotator('asker')
evaluators:
  always: Yes()
  good: "Judge('openai/good', base_url='{url}')"
  weak: "Judge('openai/weak', base_url='{url}')"
bootstrap: {{resamples: 200}}
tests: {{permutations: 200}}
judging: {{store: {store}}}
"""
STEADY = ("board.csv", "tests.csv", "leaderboard.csv", "leaderboard.md", "leaderboard.tex")


def question_of(body: dict[str, Any]) -> str:
    return str(body["messages"][-1]["content"])


def reply(body: dict[str, Any], _before: int) -> Act:
    """Answer as the model of that name would."""
    number = int(re.findall(r"\d+", question_of(body))[0])
    said = EVEN[number] != WRONG[body["model"]][number]
    return Act(text=json.dumps({"answer": "yes" if said else "no"}))


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving(reply) as server:
        yield server


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, server: Server) -> Iterator[Path]:
    """A working directory with the module of the kind, its data and a run of them in ``out``."""
    folder = tmp_path_factory.mktemp("toy")
    shutil.copy(toy.__file__, folder / "toy.py")
    (folder / "data").mkdir()
    rows = [f"a{n // 6},Is number {n} even?,{int(EVEN[n])}" for n in NUMBERS]
    (folder / "data" / "answers.csv").write_text("\n".join(["asker,question,answer", *rows]) + "\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(kinds.KINDS, "yes-no", toy.YES_NO)
        del kinds.KINDS["yes-no"]
        patch.setenv(kinds.VARIABLE, "tests.kinds.toy:YES_NO")
        patch.setenv("OPENAI_API_KEY", "sk-test")
        patch.chdir(folder)
        study(server, "s")
        assert main(["run", "s.yaml", "--out", "out"]) == 0
        yield folder


def study(server: Server, name: str, *, store: str = "replies.sqlite", more: str = "") -> str:
    """Write a study file into the working directory and return its name."""
    file = f"{name}.yaml"
    Path(file).write_text(STUDY.format(url=server.openai, store=store) + more, encoding="utf-8")
    return file


def same(place: Path, one: str, other: str) -> bool:
    return all((place / one / file).read_bytes() == (place / other / file).read_bytes() for file in STEADY)


def test_the_numbers_are_those_of_the_answers(place: Path) -> None:
    board = pd.read_csv(place / "out" / "board.csv").set_index("evaluator")
    accuracy = {"always": EVEN.mean(), **{name: 1 - wrong.mean() for name, wrong in WRONG.items()}}
    assert board["estimate"].to_dict() == pytest.approx(accuracy)
    assert (board["ci_low"] <= board["estimate"]).all()
    assert (board["ci_high"] >= board["estimate"]).all()
    tests = pd.read_csv(place / "out" / "tests.csv").set_index(["first", "second"])
    assert tests.loc[("good", "always"), "difference"] == pytest.approx(0.375)
    record = json.loads((place / "out" / "run.json").read_text(encoding="utf-8"))
    assert record["data"]["keys"] == ["asker", "question"]
    assert record["data"]["cluster"] == "asker"
    assert record["evaluators"]["good"]["signature"]["prompt"]["name"] == "Judge"


def test_its_table_is_a_file_a_sheet_and_a_figure(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = pd.read_csv(place / "out" / "says_yes.csv").set_index("evaluator")["score"]
    assert table["always"] == 1
    assert main(["details", "out", "--format", "md"]) == 0
    assert f"| good | {100 * table['good']:.1f} % |" in capsys.readouterr().out
    assert main(["figures", "out", "--format", "svg", "--out", "drawn"]) == 0
    assert (place / "drawn" / "says_yes.svg").exists()


def test_a_dry_run_says_what_would_be_asked(
    place: Path, server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = len(server.log)
    assert main(["run", study(server, "dry", store="none.sqlite"), "--dry-run"]) == 0
    told = capsys.readouterr().out
    assert "96 calls to make, 0 in the store" in told
    assert "Is number 0 even?" in told
    assert len(server.log) == asked
    assert not (place / "none.sqlite").exists()


def test_offline_from_the_store_and_from_nothing(
    place: Path, server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = len(server.log)
    assert main(["run", "s.yaml", "--out", "offline", "--offline"]) == 0
    assert same(place, "out", "offline")
    assert main(["run", study(server, "nothing", store="none.sqlite"), "--offline"]) == 2
    assert "48 of 48 replies are not in the store" in capsys.readouterr().err
    assert len(server.log) == asked
    assert main(["compare", "out", "offline"]) == 0
    assert "nothing changed" in capsys.readouterr().out


def test_a_budget_that_ends_and_goes_on(
    place: Path, server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = len(server.log)
    file = study(server, "few", store="few.sqlite, max_calls: 20")
    assert main(["run", file, "--out", "few"]) == 3
    unsent = re.findall(r"(\d+) scores of (?:good|weak)", capsys.readouterr().err)
    assert sum(map(int, unsent)) == 2 * N - 20  # whichever of the two judges came first
    assert not (place / "few" / "board.csv").exists()
    study(server, "few", store="few.sqlite")
    assert main(["run", file, "--out", "few"]) == 0
    assert same(place, "out", "few")
    assert len(server.log) == asked + 2 * N


def test_two_runs_that_differ(place: Path, server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    file = study(server, "less", more="exclude: {asker: [a0]}\n")
    assert main(["run", file, "--out", "less", "--offline"]) == 0
    assert main(["compare", "out", "less", "--format", "md"]) == 0
    told = capsys.readouterr().out
    assert "| data |  | units | 48 | 42 |" in told
    assert "| policy |  | exclude.asker | — | a0 |" in told
    assert "prompt" not in told  # the judges are the same


def test_biases_of_the_judges(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["biases", "out", "--format", "md"]) == 0
    told = capsys.readouterr().out
    # It says no six times where the asker says yes, and never the other way round.
    assert re.search(r"\| good \| leniency \| mean of score − truth \| -0\.1250 \[", told)
    assert "bootstrap resamples of the 8 askers" in told


def test_a_gate_with_a_baseline(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    by_good = ["gate", "out", "--evaluator", "good"]
    assert main([*by_good, "--write-baseline", "base.json"]) == 0
    assert main([*by_good, "--baseline", "base.json", "--max-drop", "answer=0.05", "--format", "md"]) == 0
    assert "| pass | answer |" in capsys.readouterr().out
    assert main([*by_good, "--min", "answer=0.9"]) == 1
    assert main([*by_good, "--min", "answer=0.1", "--by", "asker"]) in (0, 4)
    assert "a7" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        "details",
        "disagreements",
        "calibrate",
        "ensembles",
        "power",
        "figures",
        "generators --resamples 200",
        "pairwise",
    ],
)
def test_other_questions_are_answered_or_refused_in_a_sentence(
    place: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    assert main([*command.split(), "out"]) in (0, 2)
    told = capsys.readouterr()
    refused = r"metaeval: .*(no data for a figure|no verdicts on pairs).*\n"
    assert told.out or re.fullmatch(refused, told.err)


@pytest.mark.slow
def test_the_report_from_leaderboard_to_raw_reply(place: Path, browser: Browser) -> None:  # noqa: F811
    # Last in this file: the browser's event loop is in the way of the judges'.
    wrong: list[str] = []
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    page.set_default_timeout(10_000)
    page.context.set_offline(offline=True)
    page.on("request", lambda r: None if r.url.startswith(("file:", "data:")) else wrong.append(r.url))
    page.on("console", lambda m: wrong.append(m.text) if m.type == "error" else None)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.goto((place / "out" / "report.html").as_uri())
    page.locator("main h2").wait_for()
    assert page.locator("tbody .evaluator .words").all_inner_texts() == ["good", "weak", "always"]
    page.get_by_role("link", name="weak in detail").click()
    page.get_by_role("heading", name="Askers: weak").wait_for()
    page.get_by_role("link", name="a2", exact=True).click()
    page.get_by_role("heading", name="Units").wait_for()
    assert page.get_by_role("status").inner_text() == "6 of 48 units"
    page.get_by_label("Search texts, titles, ids", exact=True).fill("number 15")
    page.locator("tbody th a").click()
    page.get_by_text("unit 1 of 1").wait_for()
    assert page.locator("dl.keys").first.inner_text().split("\n")[:2] == ["asker", "a2"]
    assert page.locator("table.scores tbody td").all_inner_texts() == ["0", "1", "0", "1"]
    call = page.locator("details.call[open]")
    told = call.inner_text()
    for said in (
        "Is number 15 even?",
        'Reply with JSON: {"answer": "yes"}',
        '{"answer": "yes"}',
        "weak-2024-08-06",
    ):
        assert said in told
    page.close()
    assert not wrong
