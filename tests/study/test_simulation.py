"""What is simulated, the data or a judge, is said of every run in the same words, wherever it is shown."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import NamedTuple

import pytest

import metaeval as me
from metaeval.base.simulation import Simulation
from metaeval.cli import main
from tests.study.test_report import payload_of
from tests.tiny import MANIFEST, write_study, write_tiny

JUDGE, SHORT = "Judge('simulated/one')", "Judge simulated/one"
DATA = "The data are simulated: these numbers say nothing about people."
ONE = f"{SHORT} is simulated: its numbers say nothing about a language model."
EVALUATORS = ("Length()", "Annotator('1')", "Annotator('2')")


class Case(NamedTuple):
    """A run, and what is to be said of it."""

    folder: Path
    data: bool
    judge: bool

    @property
    def warning(self) -> str:
        what = " AND ".join(["DATA"] * self.data + ["JUDGES"] * self.judge)
        said = " ".join([DATA] * self.data + [ONE] * self.judge)
        return f"SIMULATED {what}. {said}" if what else ""

    @property
    def sentences(self) -> dict[str, bool]:
        return {DATA: self.data, ONE: self.judge}

    def wrong_in(self, text: str) -> list[str]:
        """Return what a text says and should not, or should say and does not."""
        plain = " ".join(text.split())
        due = {**self.sentences, "SIMULATED": bool(self.warning)}
        return [sentence for sentence, holds in due.items() if (sentence in plain) is not holds]


@pytest.fixture(
    scope="module",
    params=[(False, False), (False, True), (True, False), (True, True)],
    ids=["real", "judge", "data", "both"],
)
def case(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Case:
    data, judge = request.param
    root = tmp_path_factory.mktemp("run")
    folder = write_tiny(root / "tiny")
    text = MANIFEST if data else MANIFEST.replace("simulated: true", "simulated: false")
    (folder / "dataset.yaml").write_text(text, encoding="utf-8")
    names = [*EVALUATORS, JUDGE] if judge else list(EVALUATORS)
    study = write_study(
        root / "s.yaml",
        evaluators=json.dumps(names),
        judging=json.dumps({"store": str(root / "store.sqlite")}),
        bootstrap="{resamples: 50}",
        tests="{permutations: 99}",
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        assert main(["--quiet", "run", str(study), "--out", str(root / "out")]) == 0
    return Case(root / "out", data, judge)


@pytest.mark.slow
def test_the_command_line_says_it_last(case: Case, capsys: pytest.CaptureFixture[str]) -> None:
    study, out = str(case.folder.parent / "s.yaml"), str(case.folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(case.folder.parent)
        for command in (["run", study, "--out", out], ["run", study, "--out", "new", "--dry-run"]):
            assert main(command) == 0
            err = capsys.readouterr().err
            assert (err.strip().splitlines() or [""])[-1] == case.warning


@pytest.mark.parametrize("command", ["details", "compare", "leaderboard"])
def test_commands_on_a_run_say_it(case: Case, command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, str(case.folder)]) == 0
    out, err = capsys.readouterr()
    assert err.strip() == case.warning
    assert ("SIMULATED" in out) is bool(case.warning)


def test_every_leaderboard_says_it(case: Case) -> None:
    of = {f: (case.folder / f"leaderboard.{f}").read_text(encoding="utf-8") for f in ("md", "tex", "csv")}
    assert not case.wrong_in(of["md"].replace("\\", ""))
    assert not case.wrong_in(of["tex"].replace(r"\textquotesingle{}", "'"))
    rows = list(csv.DictReader(of["csv"].splitlines()))
    for row in rows:
        unreal = Simulation(case.data, (JUDGE,) if case.judge else ())
        assert row.get("simulated", "") == unreal.among([row["evaluator"]]).what


def test_a_notebook_says_it(case: Case) -> None:
    data = me.load(case.folder.parent / "tiny")
    names = [*EVALUATORS, JUDGE] if case.judge else list(EVALUATORS)
    scores = me.score(data, names)
    truth = data.ratings.query("rater == 'user'")
    result = me.correlate(scores, truth, levels=["dataset"])
    # A table has no signatures, and says no data are simulated.
    of_frame = me.leaderboard(me.correlate(scores.frame, truth, levels=["dataset"]).frame)
    for shown in (scores, result, me.leaderboard(result)):
        assert not case.wrong_in(
            shown._repr_html_().replace("&#x27;", "'").replace("&#39;", "'").replace(JUDGE, SHORT)
        )
    assert not case._replace(data=False).wrong_in(
        of_frame._repr_html_().replace("&#39;", "'").replace(JUDGE, SHORT)
    )


def test_the_report_says_it_in_its_head_and_marks_its_figures(case: Case) -> None:
    found = payload_of(case.folder / "report.html")
    assert f"{found['simulated']['loud']} {found['simulated']['sentence']}".strip() == case.warning
    assert found["figures"]
    marks = {f["simulated"] for f in found["figures"] if f["name"] in ("ranking", "likeness")}
    assert marks == {found["simulated"]["loud"]}
