"""The doors to inspect, promptfoo and MLflow, with the tools themselves where they can run offline."""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import metaeval as me
from metaeval.base.errors import MetaevalError
from metaeval.base.files import bundled
from metaeval.cli import main
from tests.conftest import ROOT

TASK = """
import asyncio, sys
from inspect_ai import Task, eval_async, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ModelOutput
from inspect_ai.scorer import Score, mean, scorer
from inspect_ai.solver import solver
from metaeval.integrations.inspect_people import with_people

@solver
def says():
    async def solve(state, _generate):
        state.output = ModelOutput.from_content("mockllm/model", state.input_text)
        return state
    return solve

@scorer(metrics=[mean()])
def words():
    async def score(state, _target):
        return Score(value=len(state.input_text.split()))
    return score

@task
@with_people(clear="rated")
def longer(n: int = 20):
    rated = [None, *(1 + i % 5 for i in range(1, n))]
    texts = [Sample("word " * (1 + i % 5) + str(i), id=i, metadata={"rated": r}) for i, r in enumerate(rated)]
    return Task(MemoryDataset(texts), solver=says(), scorer=words())

@task
@with_people(clear="missing")
def without():
    return Task(MemoryDataset([Sample("a", metadata={"rated": 1})]), solver=says(), scorer=words())

made = globals()[sys.argv[2]]()
(log,) = asyncio.run(eval_async(made, model="mockllm/model", log_dir=sys.argv[1]))
print(log.status, log.error.message if log.error else "")
"""


def evaluated(tmp_path: Path, task: str) -> str:
    pytest.importorskip("inspect_ai")
    (tmp_path / "own.py").write_text(TASK)
    command = [sys.executable, "own.py", "logs", task]
    done = subprocess.run(
        command,
        check=False,
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT), "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    return done.stdout + done.stderr


def test_people_stand_in_the_log_of_a_task(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "success" in evaluated(tmp_path, "longer")
    (log,) = (tmp_path / "logs").glob("*.eval")
    assert main(["calibrate", str(log), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    (row,) = [row for row in found["calibration"] if row["evaluator"] == "words"]
    assert (row["aspect"], row["n_units"]) == ("clear", 19)
    assert row["spearman"] == pytest.approx(1)


def test_a_task_without_the_column_says_so(tmp_path: Path) -> None:
    from metaeval.integrations.inspect_people import with_people

    assert "has no missing" in evaluated(tmp_path, "without")
    with pytest.raises(MetaevalError, match="name people's ratings"):
        with_people()


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("doors")
    data = shutil.copytree(bundled("data/sample"), place / "data")
    study = {"dataset": str(data), "evaluators": ["Length()", "Annotator('1')"], "levels": ["dataset"]}
    return Path(me.run({**study, "bootstrap": {"resamples": 200}, "details": False}, place / "run").folder)


@pytest.fixture
def get_assert() -> Callable[..., dict[str, Any]]:
    file = ROOT / "docs" / "examples" / "promptfoo_gate.py"
    spec = importlib.util.spec_from_file_location("promptfoo_gate", file)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found: Callable[..., dict[str, Any]] = module.get_assert
    return found


@pytest.mark.parametrize(
    ("least", "passes", "says"), [("satisfaction=1", True, "Pass"), ("satisfaction=5", False, "Fail")]
)
def test_promptfoo_asks_the_gate(
    run: Path, get_assert: Callable[..., dict[str, Any]], least: str, passes: bool, says: str
) -> None:
    options = {"run": str(run), "evaluator": "Annotator('1')", "min": [least]}
    found = get_assert("a text", {"config": options, "vars": {}})
    assert (found["pass"], found["score"]) == (passes, float(passes))
    assert found["reason"].startswith(says)


def test_promptfoo_hears_what_is_wrong(tmp_path: Path, get_assert: Callable[..., dict[str, Any]]) -> None:
    assert "name the run folder" in get_assert("a", {})["reason"]
    found = get_assert("a", {"config": {"run": str(tmp_path / "none"), "min": 3}})
    assert not found["pass"]
    assert "none" in found["reason"]


@pytest.mark.filterwarnings("ignore")  # of mlflow and its store
def test_an_audit_is_logged_to_mlflow(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mlflow = pytest.importorskip("mlflow")
    from metaeval.integrations.mlflow_log import log_audit

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow.set_tracking_uri((tmp_path / "mlruns").as_uri())
    name = log_audit(run, judges=("Annotator('1')",))
    logged = mlflow.get_run(name).data
    assert -1 <= logged.metrics["Annotator 1.low"] <= logged.metrics["Annotator 1"] <= 1
    assert logged.tags["Annotator 1.gate"] in ("yes", "no", "cannot be told")
    files = {file.path for file in mlflow.MlflowClient().list_artifacts(name, "metaeval")}
    assert files == {f"metaeval/{file}" for file in ("answer.json", "audit.json", "audit.md", "report.html")}
    with mlflow.start_run() as active:  # one that is there goes on
        assert log_audit(run, judges=("Annotator('1')",), use="gate") == active.info.run_id
        assert mlflow.active_run()
