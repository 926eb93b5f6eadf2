"""A calibration: how far judges agreed with people, kept in a file with the identity of each judge.

The file is JSON: the judges (their identity: model, prompt, rubric, parser …), the data, the bands, and for
each aspect all numbers with their intervals, the confusion table and the map to people's scale. A judge whose
identity is no longer the one in the file is uncalibrated.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from metaeval.analysis.agreement.labels import Agreement
from metaeval.base.errors import MetaevalError
from metaeval.engine.intervals import Bootstrap
from metaeval.runs.folder import CALIBRATION
from metaeval.stats.resampling.bootstrap import Estimate
from metaeval.stats.resampling.significance import FEWEST_CLUSTERS, TOO_FEW
from metaeval.trust.calibration.maps import MapFit

USABLE = "usable as a gate"
TIGHTEN = "tighten the rubric"
NOT_MEASURING = "not measuring it"
UNKNOWN = "cannot be said"
_WORDS = (NOT_MEASURING, TIGHTEN, USABLE)


class Bands(NamedTuple):
    """The agreements from which on a rubric is worth tightening, and a judge usable as a gate."""

    tighten: float = 0.4
    usable: float = 0.6

    @classmethod
    def read(cls, text: str | None) -> Bands:
        """Read two rising numbers in -1 … 1, such as ``0.4,0.6``; else `MetaevalError`."""
        if text is None:
            return cls()
        try:
            found = cls(*(float(word) for word in text.split(",")))
            rises = text.count(",") == 1 and -1 <= found.tighten < found.usable <= 1
        except (TypeError, ValueError):
            rises = False
        if not rises:
            raise MetaevalError(f"--bands is {text!r}; give two rising numbers in -1 … 1, such as 0.4,0.6")
        return found

    def verdict(self, estimate: float, low: float) -> str:
        """Return the verdict; it says so if the estimate lies in a higher band than the lower end."""
        if math.isnan(low) or math.isnan(estimate):
            return UNKNOWN
        shown, seems = self._band(low), self._band(estimate)
        return f"{_WORDS[shown]}, or too few labels to tell" if seems > shown else _WORDS[shown]

    def judged(
        self, found: Agreement, wanted: str | None, cuts: Sequence[float]
    ) -> tuple[str, Estimate[float], str]:
        """Return the measure of the verdict on an agreement, its value, and the verdict."""
        by = found.measure(wanted, cuts)
        value = found.value(by)
        few = found.n_clusters < FEWEST_CLUSTERS
        return by, value, TOO_FEW if few else self.verdict(value.value, value.low)

    def sentence(self) -> str:
        """Return a sentence on what the verdicts mean."""
        return (
            "The verdict uses the lower end of the interval, not the estimate: "
            f"{self.usable:g} or more is {USABLE}; {self.tighten:g} to {self.usable:g}: {TIGHTEN}; "
            f"below {self.tighten:g}: {NOT_MEASURING}. Fewer than {FEWEST_CLUSTERS} clusters are {TOO_FEW}."
        )

    def _band(self, value: float) -> int:
        return int(value >= self.tighten) + int(value >= self.usable)


CALIBRATED = "calibrated"
_UNCALIBRATED = "uncalibrated: "
_FORMAT = 1
Calibration: TypeAlias = Mapping[str, Any]
"""Plain JSON values; ``evaluators`` has ``identity`` and ``aspects`` by name."""


def named(calibration: Calibration, evaluator: str, signature: Mapping[str, Any]) -> str | None:
    """Return the calibrated evaluator of this name, else of this identity; None without one."""
    entries, now = calibration["evaluators"], identity(signature)
    if evaluator in entries:
        return evaluator
    return next((name for name, entry in entries.items() if not changes(entry["identity"], now)), None)


def numbers_of(found: Estimate[float]) -> dict[str, float]:
    """Return a value and its interval by their names in tables and files."""
    return {"estimate": found.value, "low": found.low, "high": found.high}


def state_of(calibration: Calibration, signature: Mapping[str, Any], evaluator: str) -> str:
    """Return ``calibrated``, or ``uncalibrated: `` and why, such as ``the prompt changed (… → …)``.

    ``signature`` is that of the judge now; the provider's name for the model counts only if the judge was
    asked. A judge of another name is found by its identity.
    """
    name = named(calibration, evaluator, signature)
    if name is None:
        return f"{_UNCALIBRATED}no judge like it is in the calibration"
    differences = changes(calibration["evaluators"][name]["identity"], identity(signature))
    return _UNCALIBRATED + "; ".join(differences) if differences else CALIBRATED


def is_calibrated(state: str) -> bool:
    """Say whether a state of `state_of` is that of a calibrated judge."""
    return state == CALIBRATED


def read_calibration(path: str | os.PathLike[str]) -> Calibration:
    """Read a calibration from its file or run folder; `MetaevalError` if metaeval did not write it."""
    file = Path(path)
    if file.is_dir():
        file /= CALIBRATION
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise MetaevalError(
            f"there is no calibration {file}; make one with: metaeval calibrate RUN"
        ) from None
    except (ValueError, RecursionError) as error:
        raise MetaevalError(f"{file} is not JSON; it is not a calibration") from error
    if not isinstance(content, dict) or not isinstance(content.get("evaluators"), dict):
        raise MetaevalError(f"{file} was not written by `metaeval calibrate`; it is not a calibration")
    if content.get("calibration") != _FORMAT:
        raise MetaevalError(
            f"{file} is a calibration of form {content.get('calibration')!r}, and this version reads form "
            f"{_FORMAT}; calibrate again"
        )
    return content


def judge_notes(
    where: Path, evaluator: str, signature: Mapping[str, Any], aspects: Sequence[str]
) -> tuple[dict[str, str], list[str]]:
    """Return the aspects for which a judge cannot be a gate, with why, and sentences on what is not known.

    Both are empty if its calibration allows it. ``where`` is a calibration, which must be readable, or a run
    folder that may hold one.
    """
    if where.is_dir() and not (where / CALIBRATION).exists():
        never = "it was never compared with people's labels (metaeval calibrate RUN)"
        return {}, [f"The judge is uncalibrated: {never}."]
    calibration = read_calibration(where)
    state = state_of(calibration, signature, evaluator)
    if not is_calibrated(state):
        return {}, [f"The judge is {state}."]
    aspects_of = calibration["evaluators"][named(calibration, evaluator, signature)]["aspects"]
    verdicts = {a: aspects_of.get(a, {}).get("verdict", f"not calibrated for {a}") for a in aspects}
    return {aspect: verdict for aspect, verdict in verdicts.items() if verdict != USABLE}, []


def gate_clauses(calibration: Calibration) -> dict[str, str]:
    """Say in a clause whether each evaluator of a calibration can serve as a gate."""
    clauses = {}
    for name, entry in calibration["evaluators"].items():
        verdicts = {aspect: numbers["verdict"] for aspect, numbers in entry["aspects"].items()}
        usable = [aspect for aspect, verdict in verdicts.items() if verdict == USABLE]
        others = {verdict for verdict in verdicts.values() if verdict != USABLE}
        if not others:
            clauses[name] = "can serve as a gate"
        elif usable:
            clauses[name] = f"can serve as a gate for {', '.join(usable)} alone"
        else:
            clauses[name] = (
                "cannot serve as a gate: agrees too little with people, or there are too few labels"
            )
            if others == {NOT_MEASURING}:
                clauses[name] = "cannot serve as a gate: agrees too little with people"
    return clauses


def calibration_text(calibration: Calibration) -> str:
    """Return the content of its file; the same numbers give the same bytes."""
    return json.dumps(calibration, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


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
    """Put a calibration together of agreement on all units and on strata, and maps to people's scale.

    ``signatures`` are those of the evaluators; ``about`` has the version of metaeval, the data and the truth.
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
            numbers |= {"labels": list(one.words or one.labels), "confusion": one.table.tolist()}
        if (one.evaluator, one.aspect) in of_map:
            fit = of_map[one.evaluator, one.aspect]
            numbers["map"] = {"score": fit.x.tolist(), "rating": fit.y.tolist()}
        entry["aspects"][one.aspect] = numbers
    options = {name: getattr(bootstrap, name) for name in ("resamples", "cluster", "confidence", "seed")}
    made = {"calibration": _FORMAT, **about, "bands": bands._asdict(), "bootstrap": options}
    return {**made, "evaluators": entries}


def _plain(found: Estimate[float]) -> dict[str, float | None]:
    return {k: None if math.isnan(v) else v for k, v in numbers_of(found).items()}


_WORDS_OF = {
    "model": "the model",
    "models": "the model that the provider names",
    "sent": "what the server takes",
    "prompt": "the prompt",
    "rubric": "the rubric",
    "parser": "the parser of replies",
    "examples": "the kind of examples",
    "profile": "whether the profile is shown",
    "reply": "the form of the reply",
    "ensemble": "how the members are put together",
    "parts": "the members",
}
_NOT_IDENTITY = frozenset(
    {
        "spec",  # a way to write what the rest says
        "fingerprints",  # change with every update of a provider's servers
        "without_example",  # an outcome
        "scripts",  # of the data
        "recorded_in",
        "address",  # where a model answers does not change what it is
        "attempts",
        "max_tokens",
        "replicate",  # the same judge, asked again
    }
)
_OUTCOMES = frozenset({"models", "sent"})
"""Known from replies alone: a judge that was not asked yet has none."""
_PARTS = "parts"
_SHORT = 8  # characters of a hash that are shown


def identity(signature: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of a signature that a calibration depends on, as plain JSON values."""
    found = {k: v for k, v in signature.items() if k not in _NOT_IDENTITY and not (k in _OUTCOMES and not v)}
    if found.get("examples") == "none":
        found.pop("seed", None)  # draws nothing
    if _PARTS in found:
        # Mean and Median of the same members differ in their spec alone.
        found["ensemble"] = str(signature.get("spec", "")).partition("(")[0]
        found[_PARTS] = [identity(part) for part in found[_PARTS].values()]
    plain: dict[str, Any] = json.loads(json.dumps(found, sort_keys=True, default=str))
    return plain


def changes(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Return a phrase for each difference of two identities, such as ``the prompt changed (… → …)``."""
    found = []
    for key in sorted(before.keys() | now.keys(), key=_order):
        if key in _OUTCOMES and (key not in before or key not in now):
            continue
        one, other = before.get(key), now.get(key)
        if one == other:
            continue
        if key == _PARTS and isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
            for i, (part, part_now) in enumerate(zip(one, other, strict=True), start=1):
                found += [f"in member {i}, {change}" for change in changes(part, part_now)]
            continue
        found.append(f"{_WORDS_OF.get(key, f'its {key}')} changed ({_text(key, one)} → {_text(key, other)})")
    return found


def _order(key: str) -> tuple[int, str]:
    known = list(_WORDS_OF)
    return (known.index(key) if key in known else len(known), key)


def _text(key: str, value: object) -> str:
    """Return a value as text: prompts and rubrics by name, version and the start of their hash."""
    match value:
        case None:
            text = "none"
        case list() if key == _PARTS:
            text = f"{len(value)} of them"
        case {"name": name, **rest}:
            words = [name, rest.get("version"), str(rest.get("sha256") or "")[:_SHORT]]
            text = " ".join(str(w) for w in words if w)
        case dict():
            text = json.dumps(value, sort_keys=True, ensure_ascii=False)
        case list():
            text = ", ".join(map(str, value))
        case _:
            text = str(value)[:_SHORT] if key == "sha256" else str(value)
    return text
