"""What changed between runs: data, truth, policy, versions, and what an evaluator's scores depend on."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Any, TypeAlias

import pandas as pd

from metaeval.engine.sheet import Column, Sheet

if TYPE_CHECKING:
    from collections.abc import Callable

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
    """Compare what runs depend on.

    Parameters
    ----------
    records
        Name of a run → its record.
    notes
        Further notes of the sheet.

    Returns
    -------
    Sheet
        ``changes``: ``part``, ``evaluator`` (empty unless it is an evaluator that changed), ``key``, and
        ``value @ RUN`` per run. A row per key that differs between runs; a part without one has a row that
        says that nothing changed.
    """
    rows: list[_Row] = []
    for part, read in _PARTS.items():
        changed = _changed({run: _flat(read(record)) for run, record in records.items()})
        rows += [(part, "", key, values) for key, values in changed.items()] or [(part, "", NOTHING, {})]
    rows += _evaluator_rows(records)
    columns = ["part", "evaluator", "key", *(f"value @ {run}" for run in records)]
    frame = pd.DataFrame([[*row, *map(values.get, records)] for *row, values in rows], columns=columns)
    said = []
    if any(0 < len(values) < len(records) for *_, values in rows):
        said.append("— : the run does not have this key.")
    if any("…" in value for *_, values in rows for value in values.values()):
        said.append(f"Hashes are cut to {_DIGITS} digits.")
    return Sheet(
        "changes",
        "What changed between the runs",
        frame,
        (
            Column("part", "part"),
            Column("evaluator", "evaluator"),
            Column("key", "key"),
            *(Column(f"value @ {run}", run) for run in records),
        ),
        (*notes, *said),
        reduce(or_, (record.simulation for record in records.values())),
    )


def evaluator_changes(records: Mapping[str, Record], evaluator: str) -> Texts:
    """Return what differs between the runs that have an evaluator: its spec, signature, counts by status.

    Keys of nested mappings are joined by dots, such as ``prompt.sha256``.
    """
    facts = {run: r.evaluators[evaluator] for run, r in records.items() if evaluator in r.evaluators}
    return _changed(
        {
            run: _flat({**e.signature, "spec": e.spec, "kind": str(e.kind), "scores": e.scores})
            for run, e in facts.items()
        }
    )


def evaluators_of(records: Mapping[str, Record]) -> dict[str, list[str]]:
    """Return every evaluator of any run, in the runs' order, and the runs that have it."""
    found: dict[str, list[str]] = {}
    for run, record in records.items():
        for name in record.evaluators:
            found.setdefault(name, []).append(run)
    return found


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
    found: Texts = {}
    for key in keys:
        values = {run: given[key] for run, given in of_runs.items() if key in given}
        if len(values) < len(of_runs) or len(set(values.values())) > 1:
            found[key] = {run: _HASH.sub(r"\1…", value) for run, value in values.items()}
    return found


def _flat(value: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    """Return nested mappings as one from dotted keys to texts."""
    found: dict[str, str] = {}
    for key, inner in value.items():
        if isinstance(inner, Mapping):
            found |= _flat(inner, f"{prefix}{key}.")
        else:
            found[f"{prefix}{key}"] = _text(inner)
    return found


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
