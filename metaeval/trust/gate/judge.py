"""Whether the judge behind a gate is calibrated, as it is now and for the aspects it judges."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from metaeval.trust.calibration.record import CALIBRATION, is_calibrated, read_calibration, state_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path


def judge_notes(
    where: Path, evaluator: str, signature: Mapping[str, Any], aspects: Sequence[str]
) -> list[str]:
    """Return sentences on why a judge should not be a gate; none if its calibration allows it.

    Parameters
    ----------
    where
        A calibration, or a run folder that may hold one.
    evaluator, signature
        The judge as it is now.
    aspects
        What it judges.

    Raises
    ------
    MetaevalError
        If the calibration cannot be read.
    """
    if where.is_dir() and not (where / CALIBRATION).exists():
        return [
            "The judge is uncalibrated: no labels of people were held against it (metaeval calibrate RUN)."
        ]
    calibration = read_calibration(where)
    state = state_of(calibration, signature, evaluator)
    if not is_calibrated(state):
        return [f"The judge is {state}."]
    name = calibration.named(evaluator, signature) or evaluator
    return [
        f"The judge is no gate for {aspect}: by its calibration, {calibration.verdict(name, aspect)}."
        for aspect in aspects
        if not calibration.usable(name, aspect)
    ]
