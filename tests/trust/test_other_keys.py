"""The commands that ask whether a judge is to be trusted, on a run whose units are named by other keys."""

from __future__ import annotations

import json
from pathlib import Path

import click
import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from metaeval import __version__
from metaeval.base.errors import MetaevalError
from metaeval.base.formulas import to_csv
from metaeval.base.records import Kind, Scale
from metaeval.cli.frame import command_of
from metaeval.cli.trust import disagreements, gate
from metaeval.engine.board import Board, BoardDimension
from metaeval.runs.folder import RANKING, SCORES, TRUTH, RunFolder
from metaeval.runs.record import DataFacts, EvaluatorFacts, Record, StudyFacts, TruthFacts

KEYS = ["asker", "question"]
ASKERS, QUESTIONS = 24, 6
JUDGES = {"yea": 0.6, "fair": 0.0, "third": 0.0}
"""Name → the share of its answers that are yes, whatever the truth."""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of yes and no: one aspect, no generators, no texts; nothing here changes its outputs."""
    rng = np.random.default_rng(3)
    units = pd.DataFrame(
        [(f"a{a:02}", f"q{q}") for a in range(ASKERS) for q in range(QUESTIONS)], columns=KEYS
    )
    truth = units.assign(aspect="right", rating=rng.integers(0, 2, len(units)).astype(float))
    scores = []
    for name, yes in JUDGES.items():
        answer = np.where(rng.random(len(units)) < 0.15, 1 - truth["rating"], truth["rating"])
        answer = np.where(rng.random(len(units)) < yes, 1.0, answer)
        scores.append(units.assign(evaluator=name, aspect="right", score=answer, status="ok", call=""))
    ranking = pd.DataFrame(
        [{"rank": 1, "evaluator": "fair", "share": "right", "estimate": 0.8, "ci_low": 0.7, "ci_high": 0.9}]
    )
    board = Board(ranking.drop(columns="rank"), (BoardDimension("share", {"right": "right"}),))
    record = Record(
        layout=1,
        metaeval=__version__,
        status="done",
        study=StudyFacts(kind="answers", dataset="nowhere", aspects=["right"]),
        data=DataFacts(
            name="answers",
            fingerprint="0" * 64,
            simulated=False,
            licence="CC0",
            source="drawn",
            units=len(units),
            scale=Scale(0, 1),
            keys=KEYS,
            cluster="asker",
            nouns={"asker": "person", "question": "question"},
        ),
        truth=TruthFacts(spec="Person()", signature={"spec": "Person()"}),
        evaluators={
            name: EvaluatorFacts(
                spec=f"Answerer({name!r})",
                kind=Kind.JUDGE,
                signature={"spec": f"Answerer({name!r})", "model": f"openai/{name}"},
                scores={"ok": len(units)},
            )
            for name in JUDGES
        },
        tests=None,
        board=board.record(),
        board_file="board.csv",
    )
    folder = tmp_path_factory.mktemp("answers") / "run"
    with RunFolder.claim(folder) as claimed:
        claimed.finish(
            {
                SCORES: lambda file: pd.concat(scores, ignore_index=True).to_parquet(file, index=False),
                TRUTH: lambda file: truth.to_parquet(file, index=False),
                "board.csv": lambda file: to_csv(board.frame, file),
                RANKING: lambda file: to_csv(ranking, file),
            },
            record,
        )
    return folder


def invoke(command: click.Command, *arguments: object) -> str:
    result = CliRunner().invoke(command, ["--format", "md", *map(str, arguments)], obj={})
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.stdout


def test_biases(run: Path) -> None:
    text = invoke(command_of("biases"), run, "--resamples", 300)
    assert f"{ASKERS} persons" in text
    assert "Self-preference is left out: the run has no generators" in text
    assert "Verbosity is left out" in text
    assert "Rank and estimate are those of the leaderboard (right)" in text
    found = json.loads(invoke(command_of("biases"), run, "--json", "--resamples", 1000))
    lenient = {row["judge"]: row["found"] for row in found["biases"] if row["bias"] == "leniency"}
    assert lenient == {"yea": "scores higher than people", "fair": "no bias found", "third": "no bias found"}


def test_a_gate_and_its_baseline(run: Path, tmp_path: Path) -> None:
    name = ("--evaluator", "fair")
    text = invoke(gate, run, *name, "--min", "right=0.2")
    assert "Gate by fair: pass" in text
    assert "persons as clusters" in text
    by_question = invoke(gate, run, *name, "--min", 0.2, "--by", "question", "--cluster", "unit")
    assert "q5" in by_question
    baseline = tmp_path / "main.json"
    invoke(gate, run, *name, "--max-drop", 0.1, "--write-baseline", baseline)
    assert "the same texts, and the same judge" in invoke(gate, run, "--baseline", baseline)
    with pytest.raises(MetaevalError, match="has no generators; leave --generator out"):
        invoke(gate, run, *name, "--min", 0.2, "--generator", "gpt-4")
    with pytest.raises(MetaevalError, match="clustered by 'user'; give person, question or unit"):
        invoke(gate, run, *name, "--min", 0.2, "--cluster", "user")


def test_a_calibration(run: Path) -> None:
    text = invoke(command_of("calibrate"), run, "--by", "question", "--resamples", 100)
    assert "resamples of persons" in text
    assert "Agreement with people by question" in text
    (run / "calibration.json").unlink()


def test_disagreements_of_a_panel(run: Path) -> None:
    text = invoke(disagreements, run, "--n", 3, "--resamples", 50)
    assert "| Person" in text
    assert "without the persons on whom it and the panel are evaluated" in text
