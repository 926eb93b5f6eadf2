"""A calibration: how far judges agreed with people, kept in a file with the identity of each judge.

The file is JSON: the judges (their identity: model, prompt, rubric, parser …), the data, the bands, and for
each aspect all numbers with their intervals, the confusion table and the map to people's scale. A judge whose
identity is no longer the one in the file is uncalibrated.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metaeval.base.errors import MetaevalError, one_of
from metaeval.base.files import write_text
from metaeval.trust.calibration.bands import USABLE
from metaeval.trust.calibration.identity import changes, identity

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from metaeval.analysis.agreement.labels import Agreement
    from metaeval.engine.intervals import Bootstrap
    from metaeval.stats.resampling.bootstrap import Estimate
    from metaeval.trust.calibration.bands import Bands
    from metaeval.trust.calibration.maps import MapFit

CALIBRATION = "calibration.json"
"""The file in a run folder."""
CALIBRATED = "calibrated"
_UNCALIBRATED = "uncalibrated: "
_FORMAT = 1


@dataclass(frozen=True, slots=True, eq=False)
class Calibration:
    """The content of a calibration file."""

    content: Mapping[str, Any]
    """Plain JSON values; ``evaluators`` has ``identity`` and ``aspects`` by name."""

    @property
    def evaluators(self) -> tuple[str, ...]:
        """Names of the calibrated evaluators."""
        return tuple(self.content["evaluators"])

    def identity(self, evaluator: str) -> Mapping[str, Any]:
        """Return the identity that an evaluator was calibrated with."""
        found: Mapping[str, Any] = self._entry(evaluator)["identity"]
        return found

    def aspects(self, evaluator: str) -> Mapping[str, Mapping[str, Any]]:
        """Return ``verdict``, ``measure``, ``estimate``, ``low``, ``high`` and more by aspect."""
        found: Mapping[str, Mapping[str, Any]] = self._entry(evaluator)["aspects"]
        return found

    def verdict(self, evaluator: str, aspect: str) -> str:
        """Return the verdict for an aspect, or ``not calibrated for …``."""
        found = self.aspects(evaluator).get(aspect)
        return f"not calibrated for {aspect}" if found is None else str(found["verdict"])

    def usable(self, evaluator: str, aspect: str) -> bool:
        """Say whether the evaluator may be used as a gate for an aspect."""
        return self.verdict(evaluator, aspect) == USABLE

    def named(self, evaluator: str | None, signature: Mapping[str, Any]) -> str | None:
        """Return the calibrated evaluator of this name, else of this identity, else the most similar one."""
        if evaluator in self.evaluators:
            return evaluator
        now = identity(signature)
        differences = {name: len(changes(self.identity(name), now)) for name in self.evaluators}
        same = [name for name, n in differences.items() if not n]
        if same:
            return same[0]
        alike = [
            n for n in self.evaluators if "model" in now and self.identity(n).get("model") == now["model"]
        ]
        if alike:
            return min(alike, key=lambda name: differences[name])
        return self.evaluators[0] if len(self.evaluators) == 1 else None

    def _entry(self, evaluator: str) -> Mapping[str, Any]:
        entries: Mapping[str, Mapping[str, Any]] = self.content["evaluators"]
        return entries[one_of(evaluator, entries, "the calibration has no evaluator")]


def numbers_of(found: Estimate[float]) -> dict[str, float]:
    """Return a value and its interval by their names in tables and files."""
    return {"estimate": found.value, "low": found.low, "high": found.high}


def state_of(calibration: Calibration, signature: Mapping[str, Any], evaluator: str | None = None) -> str:
    """Say whether a judge is the one that was calibrated.

    Parameters
    ----------
    calibration
        As `read_calibration` returns it.
    signature
        Of the judge now. The provider's name for the model counts only if the judge was asked.
    evaluator
        Its name; if None, the judge is found by its identity.

    Returns
    -------
    str
        ``calibrated``, or ``uncalibrated: `` and why, such as ``the prompt changed (… → …)``.
    """
    name = calibration.named(evaluator, signature)
    if name is None:
        return f"{_UNCALIBRATED}no judge like it is in the calibration"
    found = changes(calibration.identity(name), identity(signature))
    return _UNCALIBRATED + "; ".join(found) if found else CALIBRATED


def is_calibrated(state: str) -> bool:
    """Say whether a state of `state_of` is that of a calibrated judge."""
    return state == CALIBRATED


def read_calibration(path: str | os.PathLike[str]) -> Calibration:
    """Read a calibration from its file, or from a run folder that holds one.

    Raises
    ------
    MetaevalError
        If there is none, or it was not written by metaeval.
    """
    file = Path(path)
    if file.is_dir():
        file /= CALIBRATION
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise MetaevalError(
            f"there is no calibration {file}; make one with: metaeval calibrate RUN"
        ) from None
    except ValueError as error:
        raise MetaevalError(f"{file} is not JSON; it is not a calibration") from error
    if not isinstance(content, dict) or not isinstance(content.get("evaluators"), dict):
        raise MetaevalError(f"{file} was not written by `metaeval calibrate`; it is not a calibration")
    if content.get("calibration") != _FORMAT:
        raise MetaevalError(
            f"{file} is a calibration of form {content.get('calibration')!r}, and this version reads form "
            f"{_FORMAT}; calibrate again"
        )
    return Calibration(content)


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
            "The judge is uncalibrated: it was never compared with people's labels (metaeval calibrate RUN)."
        ]
    calibration = read_calibration(where)
    state = state_of(calibration, signature, evaluator)
    if not is_calibrated(state):
        return [f"The judge is {state}."]
    name = calibration.named(evaluator, signature) or evaluator
    return [
        f"The judge cannot serve as a gate for {aspect}: by its calibration, "
        f"{calibration.verdict(name, aspect)}."
        for aspect in aspects
        if not calibration.usable(name, aspect)
    ]


def write_calibration(calibration: Calibration, path: str | os.PathLike[str]) -> None:
    """Write a calibration, in full or not at all; the same numbers give the same bytes."""
    text = json.dumps(calibration.content, indent=1, ensure_ascii=False, allow_nan=False)
    write_text(path, text + "\n")


def make_calibration(
    found: Sequence[Agreement],
    maps: Sequence[MapFit],
    *,
    signatures: Mapping[str, Mapping[str, Any]],
    about: Mapping[str, Any],
    bands: Bands,
    bootstrap: Bootstrap,
    measure: str | None = None,
    cuts: Sequence[float] = (),
) -> Calibration:
    """Put a calibration together.

    Parameters
    ----------
    found
        Agreement on all units and on strata.
    maps
        To people's scale; an evaluator may lack one.
    signatures
        Of the evaluators, by name.
    about
        The version of metaeval, the data with their fingerprint, the truth.
    bands, bootstrap, measure, cuts
        How verdicts and intervals were made.
    """
    of_map = {(m.evaluator, m.aspect): m.map for m in maps}
    entries: dict[str, dict[str, Any]] = {}
    for one in found:
        entry = entries.setdefault(
            one.evaluator, {"identity": identity(signatures.get(one.evaluator, {})), "aspects": {}}
        )
        by, value, verdict = bands.judged(one, measure, cuts)
        numbers: dict[str, Any] = {
            "verdict": verdict,
            "measure": by,
            **_plain(value),
            "n_units": one.n_units,
            "n_clusters": one.n_clusters,
            "without_score": dict(one.statuses),
            "values": {name: _plain(v) for name, v in one.measured.items()},
        }
        if one.stratum:
            entry["aspects"][one.aspect].setdefault("strata", {})[one.stratum] = numbers
            continue
        if one.table is not None:
            numbers |= {"labels": list(one.labels), "confusion": one.table.tolist()}
        if (one.evaluator, one.aspect) in of_map:
            fit = of_map[one.evaluator, one.aspect]
            numbers["map"] = {"score": fit.x.tolist(), "rating": fit.y.tolist()}
        entry["aspects"][one.aspect] = numbers
    options = {name: getattr(bootstrap, name) for name in ("resamples", "cluster", "confidence", "seed")}
    made = {"calibration": _FORMAT, **about, "bands": bands._asdict(), "bootstrap": options}
    return Calibration({**made, "evaluators": entries})


def _plain(found: Estimate[float]) -> dict[str, float | None]:
    return {k: None if math.isnan(v) else v for k, v in numbers_of(found).items()}
