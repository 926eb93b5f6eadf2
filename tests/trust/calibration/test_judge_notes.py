"""What is said against a judge that nobody vouched for."""

from __future__ import annotations

from pathlib import Path

import pytest

from metaeval.base.errors import MetaevalError
from metaeval.trust.calibration.record import calibration_text, identity, judge_notes

SIGNATURE = {"model": "openai/a", "prompt": {"name": "multi-aspect", "sha256": "1" * 64}, "parser": "1"}


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run folder whose judge is a gate for one aspect, and none for another."""
    verdicts = {"clear": "usable as a gate", "fitting": "tighten the rubric"}
    aspects = {aspect: {"verdict": verdict} for aspect, verdict in verdicts.items()}
    entry = {"identity": identity(SIGNATURE), "aspects": aspects}
    (tmp_path / "calibration.json").write_text(
        calibration_text({"calibration": 1, "evaluators": {"judge": entry}}), encoding="utf-8"
    )
    return tmp_path


def test_nothing_is_said_of_one_that_people_vouched_for(run: Path) -> None:
    assert judge_notes(run, "judge", SIGNATURE, ["clear"]) == ({}, [])
    assert judge_notes(run / "calibration.json", "judge", SIGNATURE, ["clear"]) == ({}, [])
    assert judge_notes(run, "by another name", SIGNATURE, ["clear"]) == ({}, [])


def test_aspects_that_it_does_not_measure_are_said(run: Path) -> None:
    assert judge_notes(run, "judge", SIGNATURE, ["clear", "fitting", "kind"]) == (
        {"fitting": "tighten the rubric", "kind": "not calibrated for kind"},
        [],
    )


def test_a_judge_that_changed_since_is_uncalibrated(run: Path) -> None:
    _, (note,) = judge_notes(run, "judge", {**SIGNATURE, "parser": "2"}, ["clear"])
    assert note == "The judge is uncalibrated: the parser of replies changed (1 → 2)."


def test_without_labels_there_is_no_calibration(tmp_path: Path) -> None:
    _, (note,) = judge_notes(tmp_path, "judge", SIGNATURE, ["clear"])
    assert note.startswith("The judge is uncalibrated: it was never compared")
    with pytest.raises(MetaevalError, match="there is no calibration"):
        judge_notes(tmp_path / "none.json", "judge", SIGNATURE, ["clear"])
