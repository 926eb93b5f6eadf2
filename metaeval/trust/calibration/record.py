"""A calibration: how far judges agreed with people, kept with what the judges were; read again, and held to.

The file is JSON: what was calibrated (the judge's identity: model, prompt, rubric, parser …), on which data,
by which bands, and for each aspect all numbers with their intervals, the confusion table and the map to
people's scale. A judge whose identity is no longer the one in the file is uncalibrated.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metaeval.base.errors import MetaevalError, one_of
from metaeval.base.files import write_text
from metaeval.trust.calibration.bands import is_usable
from metaeval.trust.calibration.identity import changes, identity

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from metaeval.engine.intervals import Bootstrap
    from metaeval.stats.resampling.bootstrap import Estimate
    from metaeval.trust.calibration.bands import Bands
    from metaeval.trust.calibration.labels import Agreement
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
    """Plain JSON values; ``evaluators`` has ``identity`` and ``aspects`` of each, by name."""

    @property
    def evaluators(self) -> tuple[str, ...]:
        """Names of the evaluators that were calibrated."""
        return tuple(self.content["evaluators"])

    def identity(self, evaluator: str) -> Mapping[str, Any]:
        """Return what the evaluator was when it was calibrated."""
        found: Mapping[str, Any] = self._entry(evaluator)["identity"]
        return found

    def aspects(self, evaluator: str) -> Mapping[str, Mapping[str, Any]]:
        """Return by aspect ``verdict``, ``measure``, ``estimate``, ``low``, ``high`` and more."""
        found: Mapping[str, Mapping[str, Any]] = self._entry(evaluator)["aspects"]
        return found

    def verdict(self, evaluator: str, aspect: str) -> str:
        """Return the words for an aspect; ``not calibrated for …`` if it was not looked at."""
        found = self.aspects(evaluator).get(aspect)
        return f"not calibrated for {aspect}" if found is None else str(found["verdict"])

    def usable(self, evaluator: str, aspect: str) -> bool:
        """Say whether the evaluator may be used as a gate for an aspect."""
        return is_usable(self.verdict(evaluator, aspect))

    def named(self, evaluator: str | None, signature: Mapping[str, Any]) -> str | None:
        """Return the calibrated evaluator that is meant: by name, by its identity, or the only likely one."""
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
    """Return the value and its interval by the names they have in tables and files."""
    return {"estimate": found.value, "low": found.low, "high": found.high}


def state_of(calibration: Calibration, signature: Mapping[str, Any], evaluator: str | None = None) -> str:
    """Say whether a judge is the one that was calibrated.

    Parameters
    ----------
    calibration
        As `read_calibration` returns it.
    signature
        Of the judge as it is now; one that was not asked yet does not know how its provider names the model,
        and is not held to that.
    evaluator
        Its name, if it is known. Else it is looked for by what it is.

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
    """Say whether a state that `state_of` returned is that of a calibrated judge."""
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
        raise MetaevalError(f"{file} is not JSON, so it is no calibration") from error
    if not isinstance(content, dict) or not isinstance(content.get("evaluators"), dict):
        raise MetaevalError(f"{file} was not written by `metaeval calibrate`; it is no calibration")
    if content.get("calibration") != _FORMAT:
        raise MetaevalError(
            f"{file} is a calibration of form {content.get('calibration')!r}, and this version reads form "
            f"{_FORMAT}; calibrate again"
        )
    return Calibration(content)


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
        Agreement, of all units and of strata.
    maps
        To people's scale; an evaluator may lack one.
    signatures
        Of the evaluators, by name.
    about
        What it rests on: the version of metaeval, the data with their fingerprint, the truth.
    bands, bootstrap, measure, cuts
        How verdicts and intervals were made.
    """
    of_map = {(m.evaluator, m.aspect): m for m in maps}
    entries: dict[str, dict[str, Any]] = {}
    for one in found:
        entry = entries.setdefault(
            one.evaluator, {"identity": identity(signatures.get(one.evaluator, {})), "aspects": {}}
        )
        numbers = _numbers(one, bands, measure, cuts)
        if one.stratum:
            entry["aspects"][one.aspect].setdefault("strata", {})[one.stratum] = numbers
            continue
        if one.table is not None:
            numbers |= {"labels": list(one.labels), "confusion": one.table.tolist()}
        fit = of_map.get((one.evaluator, one.aspect))
        if fit is not None:
            numbers["map"] = {"score": fit.map.x.tolist(), "rating": fit.map.y.tolist()}
        entry["aspects"][one.aspect] = numbers
    options = {
        "resamples": bootstrap.resamples,
        "cluster": bootstrap.cluster,
        "confidence": bootstrap.confidence,
        "seed": bootstrap.seed,
    }
    return Calibration(
        {
            "calibration": _FORMAT,
            **about,
            "bands": bands._asdict(),
            "bootstrap": options,
            "evaluators": entries,
        }
    )


def _numbers(one: Agreement, bands: Bands, measure: str | None, cuts: Sequence[float]) -> dict[str, Any]:
    by = one.measure(measure, cuts)
    value = one.value(by)
    return {
        "verdict": bands.verdict(value.value, value.low),
        "measure": by,
        **_plain(value),
        "n_units": one.n_units,
        "n_clusters": one.n_clusters,
        "without_score": dict(one.statuses),
        "values": {name: _plain(v) for name, v in one.measured.items()},
    }


def _plain(found: Estimate[float]) -> dict[str, float | None]:
    return {k: None if math.isnan(v) else v for k, v in numbers_of(found).items()}
