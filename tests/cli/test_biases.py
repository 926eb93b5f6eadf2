"""``metaeval biases``, as it is typed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pandas as pd
import pytest
from click.testing import CliRunner

from metaeval.base.errors import MetaevalError
from metaeval.cli.biases import biases
from metaeval.study.pipeline import run
from tests.tiny import write_study, write_tiny

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run on the data set ``tiny``, of 3 users; nothing here writes into it but its report."""
    folder = tmp_path_factory.mktemp("biases")
    write_tiny(folder / "tiny")
    listed = '["Length()", "Annotator(\'1\')", "Recorded(\'Judge & Co_1\')"]'
    return run(write_study(folder / "s.yaml", evaluators=listed), folder / "out").folder


def invoke(*arguments: object) -> str:
    result = CliRunner().invoke(
        biases, [*map(str, arguments), "--resamples", "200", "--format", "md"], obj={}
    )
    if result.exception:
        raise result.exception
    return result.stdout


def test_it_prints_its_tables(finished: Path) -> None:
    text = invoke(finished, "--judge", "Annotator('1')")
    for title in (
        "The judges on the leaderboard, and their biases",
        "Biases of the judges, tested",
        "Verbosity: the effect of length, given the truth",
        "Leniency, range use and central tendency",
    ):
        assert f"## {title}" in text
    assert "SIMULATED" in text
    assert "3 users are too few for any test at 5 %" in text
    assert "too few to tell" in text
    assert text == invoke(finished, "--judge", "Annotator('1')")


def test_families_are_said(finished: Path, tmp_path: Path) -> None:
    judge = "Recorded('Judge & Co_1')"
    families = tmp_path / "families.yaml"
    families.write_text("long: ours\nshort: ours\n", encoding="utf-8")
    found = json.loads(
        invoke(
            finished,
            "--json",
            "--judge",
            judge,
            "--family",
            f"{judge}=ours",
            "--families",
            families,
            "--family",
            "short=none",
        )
    )
    assert {row["own"] for row in found["self_preference"]} == {"long"}
    assert "scale" not in found  # its scores are from 0 to 6


@pytest.mark.parametrize("suffix", ["csv", "tex", "html"])
def test_every_format(finished: Path, tmp_path: Path, suffix: str) -> None:
    out = tmp_path / f"b.{suffix}"
    invoke(finished, "--judge", "Annotator('1')", "--out", out)
    if suffix == "csv":
        names = {p.name for p in tmp_path.glob("b-*.csv")}
        assert names == {"b-judges.csv", "b-biases.csv", "b-verbosity.csv", "b-scale.csv"}
        assert set(pd.read_csv(tmp_path / "b-biases.csv")["judge"]) == {"Annotator('1')"}
    else:
        assert "Verbosity" in out.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], r"the run has no judges; name .* with --judge \(Annotator\('1'\), Recorded"),
        (["--judge", "Anotator('1')"], "no evaluator .*; did you mean"),
        (["--judge", "Annotator('1')", "--family", "lnog=x"], "did you mean 'long'"),
        (["--judge", "Annotator('1')", "--length", "Lenght()"], r"did you mean 'Length\(\)'"),
    ],
)
def test_wrong_options(finished: Path, options: list[str], message: str) -> None:
    with pytest.raises(MetaevalError, match=message):
        invoke(finished, *options)
