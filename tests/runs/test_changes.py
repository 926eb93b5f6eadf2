"""What changed between runs, from the records that they wrote."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from metaeval.engine.sheet import Sheet
from metaeval.runs.comparison import evaluator_changes, run_changes
from metaeval.runs.joint import evaluators_of
from metaeval.runs.record import Record
from tests.study.runs import tiny_run
from tests.tiny import write_tiny

PARTS = ["data", "scale", "truth", "aspects", "policy", "study", "versions", "evaluators"]


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Any]:
    """The record of a run with a judge."""
    folder = tmp_path_factory.mktemp("changes")
    write_tiny(folder / "tiny")
    judge = "{judge: \"Judge('simulated/one')\", both: \"Mean(judge, Annotator('1'))\", length: Length()}"
    run: Path = tiny_run(folder, "run", evaluators=judge)
    found: Mapping[str, Any] = json.loads((run / "run.json").read_text(encoding="utf-8"))
    return found


def rows(sheet: Sheet) -> dict[tuple[str, str, str], list[str | None]]:
    """Return the values of each row but those in which nothing changed."""
    plain = sheet.frame.astype(object).where(sheet.frame.notna(), None)
    return {
        tuple(row[:3]): row[3:]
        for row in plain.to_numpy().tolist()
        if not row[2].startswith("nothing changed")
    }


def test_nothing_changed_is_said_of_each_part(record: Mapping[str, Any]) -> None:
    sheet = run_changes({"a": Record(**record), "b": Record(**record)}, ("A note.",))
    assert sheet.frame["part"].tolist() == PARTS
    assert set(sheet.frame["key"]) == {"nothing changed"}
    assert sheet.frame[["value @ a", "value @ b"]].isna().all(axis=None)
    assert sheet.notes == ("A note.",), "no cell is without a value that another run has"
    assert [c.title for c in sheet.columns] == ["part", "evaluator", "key", "a", "b"]
    assert sheet.simulated


def test_every_key_that_is_not_the_same(record: Mapping[str, Any]) -> None:
    other = copy.deepcopy(dict(record))
    other["data"] |= {"fingerprint": "f" * 64, "units": 17, "scale": [1, 7, True]}
    other["truth"]["spec"] = "Annotator('1')"
    other["policy"]["n_truth_missing"] = {"clear": 0, "fitting": 0}
    other["study"] |= {"aspects": ["clear"], "missing": {"truth": "drop", "score": 0.0}, "bootstrap": None}
    other["libraries"]["numpy"] = "1.0"
    judge = other["evaluators"]["judge"]
    judge["signature"] |= {"temperature": 0.5, "models": ["one-2", "one-3"]}
    judge["signature"]["prompt"] |= {"sha256": "0" * 64}
    judge["scores"] = {"ok": 30, "refused": 6}
    found = rows(run_changes({"a": Record(**record), "b": Record(**other)}))
    fingerprint = record["data"]["fingerprint"][:12]
    prompt = record["evaluators"]["judge"]["signature"]["prompt"]["sha256"][:12]
    expected: dict[tuple[str, str, str], list[str | None]] = {
        ("data", "", "fingerprint"): [f"{fingerprint}…", "ffffffffffff…"],
        ("data", "", "units"): ["18", "17"],
        ("scale", "", "max"): ["5", "7"],
        ("truth", "", "spec"): ["User()", "Annotator('1')"],
        ("truth", "", "unanswered.fitting"): ["1", None],
        ("aspects", "", "aspects"): ["clear, fitting", "clear"],
        ("policy", "", "missing.truth"): ["3", "drop"],
        ("study", "", "bootstrap"): [None, "none"],
        ("versions", "", "libraries.numpy"): [record["libraries"]["numpy"], "1.0"],
        ("evaluators", "judge", "temperature"): ["0", "0.5"],
        ("evaluators", "judge", "models"): ["simulated-one", "one-2, one-3"],
        ("evaluators", "judge", "prompt.sha256"): [f"{prompt}…", "000000000000…"],
        ("evaluators", "judge", "scores.ok"): ["36", "30"],
        ("evaluators", "judge", "scores.refused"): [None, "6"],
    }
    bootstrap = {key for key in found if key[2].startswith("bootstrap.")}
    assert {key: values for key, values in found.items() if key not in bootstrap} == expected
    assert all(found[key][1] is None for key in bootstrap)
    assert len(bootstrap) == len(record["study"]["bootstrap"])


def test_what_is_inside_an_ensemble_is_seen(record: Mapping[str, Any]) -> None:
    other = copy.deepcopy(dict(record))
    parts = other["evaluators"]["both"]["signature"]["parts"]
    (judge,) = (name for name in parts if name.startswith("Judge"))
    parts[judge]["temperature"] = 1
    found = evaluator_changes({"a": Record(**record), "b": Record(**other)}, "both")
    assert found == {f"parts.{judge}.temperature": {"a": "0", "b": "1"}}


def test_evaluators_in_one_run_only(record: Mapping[str, Any]) -> None:
    other = copy.deepcopy(dict(record))
    other["evaluators"] = {"new": other["evaluators"]["length"], "both": other["evaluators"]["both"]}
    records = {run: Record(**content) for run, content in (("a", record), ("b", other), ("c", record))}
    assert evaluators_of(records) == {
        "judge": ["a", "c"],
        "both": ["a", "b", "c"],
        "length": ["a", "c"],
        "new": ["b"],
    }
    found = rows(run_changes(records))
    assert found == {
        ("evaluators", "judge", "in the run"): ["yes", "no", "yes"],
        ("evaluators", "length", "in the run"): ["yes", "no", "yes"],
        ("evaluators", "new", "in the run"): ["no", "yes", "no"],
    }
