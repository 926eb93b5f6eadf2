"""``metaeval ensembles``, as it is typed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import metaeval as me
from metaeval.analysis.ensembles.subsets import Costs
from metaeval.base.errors import MetaevalError
from metaeval.cli.ensembles import ensembles
from metaeval.runs.finished import open_run
from metaeval.study.commands.analyses import costs_per_text, ensembles_of, judges_of
from tests.study.runs import tiny_in
from tests.tiny import write_study

JUDGES = ["Judge('simulated/one,noise=0.2')", "Judge('simulated/two,noise=0.5')"]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    evaluators = [*JUDGES, "Annotator('1')", "Annotator('2')", f"Mean({', '.join(JUDGES)})", "Length()"]
    listed = ", ".join(f'"{e}"' for e in evaluators)
    with tiny_in(tmp_path_factory.mktemp("ensembles")) as folder:
        write_study(Path("s.yaml"), evaluators=f"[{listed}]", missing="{truth: 3, score: 0}")
        return folder / me.run("s.yaml", "out").folder


def test_it_prints_its_tables(run: Path) -> None:
    done = CliRunner().invoke(
        ensembles, [str(run), "--resamples", "50", "--format", "md"], catch_exceptions=False
    )
    assert done.exit_code == 0
    for title in (
        "Ensembles by size",
        "Contribution of each judge",
        "Correlation of the judges' errors",
        "Accuracy and cost",
        "Ensembles chosen on some users and evaluated on others",
    ):
        assert f"## {title}" in done.stdout
    assert "SIMULATED" in done.stdout
    assert "SIMULATED" in done.stderr
    again = CliRunner().invoke(
        ensembles, [str(run), "--resamples", "50", "--format", "md"], catch_exceptions=False
    )
    assert again.stdout == done.stdout


def test_json_has_every_digit_and_the_numbers_of_the_run(run: Path) -> None:
    done = CliRunner().invoke(
        ensembles, [str(run), "--resamples", "50", "--level", "user", "--json"], catch_exceptions=False
    )
    found = json.loads(done.stdout)
    assert set(found) == {"sizes", "judges", "errors", "frontier", "choices"}
    both = next(s for s in found["sizes"] if s["n_judges"] == 2 and s["aspect"] == "average")
    frame = me.correlate(open_run(run).scores, open_run(run).truth, missing={"truth": 3, "score": 0}).frame
    frame = frame[
        (frame["level"] == "user") & (frame["coefficient"] == "pearson") & (frame["aspect"] == "average")
    ]
    estimate = frame.set_index("evaluator")["estimate"]
    assert both["mean"] == pytest.approx(estimate[f"Mean({', '.join(JUDGES)})"])
    alone = {c["judge"]: c["alone"] for c in found["judges"]}
    assert alone == pytest.approx({j: estimate[j] for j in JUDGES})


def test_the_judges_of_the_run_are_the_default(run: Path) -> None:
    opened = open_run(run)
    assert judges_of(opened) == JUDGES
    people = ["Annotator('2')", "Annotator('1')"]
    assert judges_of(opened, people) == people
    # People have no cost that is known; a free model has the tokens of its calls.
    assert costs_per_text(opened.scores, people) is None
    costs = costs_per_text(opened.scores, JUDGES)
    assert isinstance(costs, Costs)
    assert costs.unit == "tokens"
    assert min(costs.of_judge.values()) > 0


def test_people_have_no_cost_that_is_known(run: Path) -> None:
    opened = open_run(run)
    assert opened.scores.simulated  # the tiny data are
    sheets = ensembles_of(
        run, ["Annotator('1')", "Annotator('2')"], levels=["dataset"], aspects=["clear"], resamples=20
    )
    assert "the number of judges stands for the cost" in " ".join(sheets[3].notes)
    assert set(sheets[0].frame["aspect"]) == {"clear"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"judges": ["Jugde('simulated/one,noise=0.2')", JUDGES[1]]}, "no evaluator .* did you mean"),
        ({"judges": [JUDGES[0]]}, "1 judge is given, and an ensemble needs two or more: .*Annotator"),
        ({"judges": [JUDGES[0]] * 2}, "names a judge twice"),
        ({"levels": ["usr"]}, "did you mean 'user'"),
        ({"aspects": ["clean"]}, "no aspect 'clean'; did you mean 'clear'"),
    ],
)
def test_what_is_wrong_is_said(run: Path, arguments, message: str) -> None:
    with pytest.raises(MetaevalError, match=message):
        ensembles_of(run, **arguments)


def test_a_run_without_judges_says_who_could_stand_in(tiny: Path) -> None:
    write_study(Path("s.yaml"))
    me.run("s.yaml", "out")
    with pytest.raises(MetaevalError, match=r"the run has no judge, .* with --judge \(Annotator\('1'\)\)"):
        ensembles_of(Path("out"))
