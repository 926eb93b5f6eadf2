"""What changed between runs: data, truth, policy, versions, and what an evaluator's scores depend on."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Any, TypeAlias

import pandas as pd

from metaeval.engine.sheet import Column, Sheet

if TYPE_CHECKING:
    from metaeval.base.records import Scale
    from metaeval.runs.record import Record

Texts: TypeAlias = dict[str, dict[str, str]]
"""Key → run → its value there; a run without the key is left out."""
_Row: TypeAlias = tuple[str, str, str, Mapping[str, str]]
"""Part, evaluator, key, and run → value."""

NOTHING = "nothing changed"
_DIGITS = 12  # of a hash that are shown
_HASH = re.compile(rf"([0-9a-f]{{{_DIGITS}}})[0-9a-f]{{20,}}")


def run_changes(records: Mapping[str, Record], notes: tuple[str, ...] = ()) -> Sheet:
    """Return the sheet ``changes``: what runs depend on, by name of the run.

    Its columns are ``part``, ``evaluator`` (empty unless it is an evaluator that changed), ``key``, and
    ``value @ RUN`` per run; a row per key that differs, or one that says that nothing of a part changed.
    """
    rows: list[_Row] = []
    for part, read in _PARTS.items():
        changed = _changed({run: _flat(read(record)) for run, record in records.items()})
        rows += [(part, "", key, values) for key, values in changed.items()] or [(part, "", NOTHING, {})]
    rows += _evaluator_rows(records)
    titles = {name: name for name in ("part", "evaluator", "key")} | {f"value @ {r}": r for r in records}
    frame = pd.DataFrame([[*row, *map(values.get, records)] for *row, values in rows], columns=[*titles])
    if any(0 < len(values) < len(records) for *_, values in rows):
        notes += ("— : the run does not have this key.",)
    if any("…" in value for *_, values in rows for value in values.values()):
        notes += (f"Hashes are cut to {_DIGITS} digits.",)
    columns = tuple(Column(name, title) for name, title in titles.items())
    simulated = reduce(or_, (record.simulation for record in records.values()))
    return Sheet("changes", "What changed between the runs", frame, columns, notes, simulated)


def evaluator_changes(records: Mapping[str, Record], evaluator: str) -> Texts:
    """Return what differs between the runs that have an evaluator: its spec, signature, counts by status.

    Keys of nested mappings are joined by dots, such as ``prompt.sha256``.
    """
    having = {run: r.evaluators[evaluator] for run, r in records.items() if evaluator in r.evaluators}
    own = ("spec", "kind", "scores")
    return _changed({run: _flat({**e.signature, **e.content(own)}) for run, e in having.items()})


def evaluators_of(records: Mapping[str, Record]) -> dict[str, list[str]]:
    """Return every evaluator of any run, in the runs' order, and the runs that have it."""
    names = dict.fromkeys(name for record in records.values() for name in record.evaluators)
    return {name: [run for run, record in records.items() if name in record.evaluators] for name in names}


def _evaluator_rows(records: Mapping[str, Record]) -> list[_Row]:
    rows: list[_Row] = []
    shared, same = 0, 0
    for name, runs in evaluators_of(records).items():
        if len(runs) < len(records):
            having = {run: "yes" if run in runs else "no" for run in records}
            rows.append(("evaluators", name, "in the run", having))
        changed = evaluator_changes(records, name)
        rows += [("evaluators", name, key, values) for key, values in changed.items()]
        shared += len(runs) > 1
        same += len(runs) > 1 and not changed
    if same:
        rows.append(("evaluators", "", f"{NOTHING} in {same} of {shared}" if rows else NOTHING, {}))
    return rows


def _changed(of_runs: Mapping[str, Mapping[str, str]]) -> Texts:
    """Return the keys whose values differ between runs; hashes are cut once they have been compared."""
    keys = dict.fromkeys(key for values in of_runs.values() for key in values)
    changed: Texts = {}
    for key in keys:
        values = {run: facts[key] for run, facts in of_runs.items() if key in facts}
        if len(values) < len(of_runs) or len(set(values.values())) > 1:
            changed[key] = {run: _HASH.sub(r"\1…", value) for run, value in values.items()}
    return changed


def _flat(value: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    """Return nested mappings as one from dotted keys to texts."""
    flat: dict[str, str] = {}
    for key, inner in value.items():
        whole = f"{prefix}{key}"
        flat |= _flat(inner, f"{whole}.") if isinstance(inner, Mapping) else {whole: _text(inner)}
    return flat


def _text(value: object) -> str:
    match value:
        case str():
            return value or "(empty)"
        case None:
            return "none"
        case bool():
            return "yes" if value else "no"
        case list() | tuple() if all(isinstance(v, str) for v in value):
            return ", ".join(value) or "none"
        case float() if value.is_integer():
            return str(int(value))
        case _:
            return json.dumps(value, ensure_ascii=False)


def _truth(record: Record) -> dict[str, Any]:
    unanswered = {k: v for k, v in record.policy.get("n_truth_missing", {}).items() if v}
    return {**record.truth.signature, "spec": record.truth.spec, "unanswered": unanswered}


def _of_scale(scale: Scale) -> dict[str, Any]:
    own: dict[str, Any] = {aspect: _of_scale(own) for aspect, own in scale.own}
    return own or {"min": scale.min, "max": scale.max, "integer": scale.integer}


def _study(*keys: str) -> Callable[[Record], dict[str, Any]]:
    return lambda record: record.study.content(keys)


_OF_DATA = ("name", "fingerprint", "units", "simulated", "licence", "source")
_PARTS: dict[str, Callable[[Record], dict[str, Any]]] = {
    "data": lambda record: record.data.content(_OF_DATA),
    "scale": lambda record: _of_scale(record.data.scale),
    "truth": _truth,
    "aspects": _study("aspects"),
    "policy": _study("missing", "undefined_groups", "units", "exclude"),
    "study": _study("levels", "coefficients", "order_by", "bootstrap", "tests"),
    "versions": lambda record: record.content(("metaeval", "python", "libraries")),
}
"""Part of a run → its facts in the record."""
