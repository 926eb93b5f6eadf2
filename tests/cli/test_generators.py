import json
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner

from metaeval.base.errors import MetaevalError
from metaeval.cli.generators import generators
from metaeval.study.pipeline import run
from tests.tiny import write_study, write_tiny


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run on the data set ``tiny``; nothing here writes into it."""
    folder = tmp_path_factory.mktemp("generators")
    write_tiny(folder / "tiny")
    evaluators = '["Length()", "Annotator(\'1\')", "Recorded(\'Judge & Co_1\')"]'
    study = write_study(folder / "s.yaml", evaluators=evaluators, missing="{truth: 3, score: 0}")
    return run(study, folder / "out").folder


def invoke(*arguments: object) -> str:
    result = CliRunner().invoke(
        generators, [*map(str, arguments), "--resamples", "200", "--format", "md"], obj={}
    )
    if result.exception:
        raise result.exception
    return result.stdout


def test_sheets_of_all_but_the_baselines(finished: Path) -> None:
    text = invoke(finished)
    assert "## Generators by the users' ratings" in text
    assert "200 bootstrap resamples of the 3 users (seed 0)" in text
    assert "Annotator('1')" in text
    assert "Length" not in text
    assert "Prediction-powered" not in text
    assert "SIMULATED" in text


def test_options(finished: Path) -> None:
    found = json.loads(
        invoke(finished, "--json", "--evaluator", "Length()", "--aspect", "clear", "--labelled", 2)
    )
    assert set(found) == {"ratings", "evaluators", "agreement", "prediction-powered"}
    assert {row["evaluator"] for row in found["agreement"]} == {"Length()"}
    assert {row["n_labelled_users"] for row in found["prediction-powered"]} == {2}
    assert invoke(finished, "--seed", 1) != invoke(finished)


def test_a_file_a_sheet(finished: Path, tmp_path: Path) -> None:
    invoke(finished, "--out", tmp_path / "g.csv")
    names = {p.name for p in tmp_path.glob("g*.csv")}
    assert names == {"g-ratings.csv", "g-evaluators.csv", "g-agreement.csv"}
    assert pd.read_csv(tmp_path / "g-ratings.csv")["generator"].nunique() == 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--evaluator", "Lenght()"], r"no evaluator 'Lenght\(\)'.*did you mean 'Length\(\)'"),
        (["--aspect", "cleer"], "no aspect 'cleer'.*did you mean 'clear'"),
        (["--labelled", "3"], "labelled is 3; give a number of users from 2 to 2"),
        (["--seed", "-1"], "seed is -1"),
    ],
)
def test_wrong_options(finished: Path, options: list[str], message: str) -> None:
    with pytest.raises(MetaevalError, match=message):
        invoke(finished, *options)
