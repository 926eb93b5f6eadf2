"""What changed between runs: data, truth, policy, versions, and all that an evaluator's scores depend on."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Any, TypeAlias

import pandas as pd

from metaeval.engine.sheet import Column, Sheet

if TYPE_CHECKING:
    from collections.abc import Callable

    from metaeval.runs.record import EvaluatorFacts, Record

Texts: TypeAlias = dict[str, dict[str, str]]
"""Key → run → the value that it has there; a run that has no such key is left out."""

NOTHING = "nothing changed"
_HASH = re.compile(r"[0-9a-f]{32,}")
_DIGITS = 12  # of a hash that are shown


def run_changes(records: Mapping[str, Record], notes: tuple[str, ...] = ()) -> Sheet:
    """Compare what runs depend on.

    Parameters
    ----------
    records
        Name of a run → what its ``run.json`` says.
    notes
        What else is to be said below the sheet.

    Returns
    -------
    Sheet
        ``changes``: ``part``, ``evaluator`` (empty unless the change is one of an evaluator's), ``key``, and
        a column ``value @ RUN`` a run. There is a row a key that is not the same in all runs, and one that
        says so for a part in which nothing changed.
    """
    rows: list[dict[str, str]] = []
    for part, read in _PARTS.items():
        changed = _changed({run: _flat(read(record)) for run, record in records.items()})
        rows += [_row(part, "", key, values) for key, values in changed.items()] or [_row(part, "", NOTHING)]
    rows += _evaluator_rows(records)
    columns = ["part", "evaluator", "key", *(f"value @ {run}" for run in records)]
    frame = pd.DataFrame([{c: row.get(c) for c in columns} for row in rows], columns=columns)
    said = []
    if any(3 < len(row) < len(columns) for row in rows):
        said.append("— stands for a key that a run does not have.")
    if any("…" in value for row in rows for value in row.values()):
        said.append(f"Of hashes the first {_DIGITS} digits are shown.")
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
    """Return what is not the same of an evaluator in the runs that have it: spec, signature, counts.

    Keys of nested mappings are joined by dots, such as ``prompt.sha256``.
    """
    return _changed(
        {
            run: _flat(_of_evaluator(record.evaluators[evaluator]))
            for run, record in records.items()
            if evaluator in record.evaluators
        }
    )


def evaluators_of(records: Mapping[str, Record]) -> dict[str, list[str]]:
    """Return every evaluator of any run, in the runs' order, and the runs that have it."""
    found: dict[str, list[str]] = {}
    for run, record in records.items():
        for name in record.evaluators:
            found.setdefault(name, []).append(run)
    return found


def _evaluator_rows(records: Mapping[str, Record]) -> list[dict[str, str]]:
    rows: list[dict[str, str]] = []
    shared, same = 0, 0
    for name, runs in evaluators_of(records).items():
        if len(runs) < len(records):
            rows.append(
                _row(
                    "evaluators", name, "in the run", {run: "yes" if run in runs else "no" for run in records}
                )
            )
        changed = evaluator_changes(records, name)
        rows += [_row("evaluators", name, key, values) for key, values in changed.items()]
        shared += len(runs) > 1
        same += len(runs) > 1 and not changed
    if same:
        rows.append(_row("evaluators", "", f"{NOTHING} in {same} of {shared}" if rows else NOTHING))
    return rows


def _row(part: str, evaluator: str, key: str, values: Mapping[str, str] | None = None) -> dict[str, str]:
    of_runs = {f"value @ {run}": value for run, value in (values or {}).items()}
    return {"part": part, "evaluator": evaluator, "key": key, **of_runs}


def _changed(of_runs: Mapping[str, Mapping[str, str]]) -> Texts:
    """Return the keys that are not the same in all runs; hashes are cut once they have been compared."""
    keys = dict.fromkeys(key for values in of_runs.values() for key in values)
    found: Texts = {}
    for key in keys:
        values = {run: given[key] for run, given in of_runs.items() if key in given}
        if len(values) < len(of_runs) or len(set(values.values())) > 1:
            found[key] = {run: _HASH.sub(_cut, value) for run, value in values.items()}
    return found


def _cut(digits: re.Match[str]) -> str:
    return f"{digits[0][:_DIGITS]}…"


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


def _of_evaluator(facts: EvaluatorFacts) -> dict[str, Any]:
    """Return what is said of an evaluator: its spec once, then its signature, then its scores by status."""
    return {**facts.signature, "spec": facts.spec, "kind": str(facts.kind), "scores": facts.scores}


def _data(record: Record) -> dict[str, Any]:
    return record.data.content(("name", "fingerprint", "units", "simulated", "licence", "source"))


def _scale(record: Record) -> dict[str, Any]:
    return asdict(record.data.scale)


def _truth(record: Record) -> dict[str, Any]:
    unanswered = {k: v for k, v in record.policy.get("n_truth_missing", {}).items() if v}
    return {**record.truth.signature, "spec": record.truth.spec, "unanswered": unanswered}


def _study(*keys: str) -> Callable[[Record], dict[str, Any]]:
    return lambda record: record.study.content(keys)


_PARTS: dict[str, Callable[[Record], dict[str, Any]]] = {
    "data": _data,
    "scale": _scale,
    "truth": _truth,
    "aspects": _study("aspects"),
    "policy": _study("missing", "undefined_groups", "units", "exclude"),
    "study": _study("levels", "coefficients", "order_by", "bootstrap", "tests"),
    "versions": lambda record: record.content(("metaeval", "python", "libraries")),
}
"""Part of a run → what is said of it in ``run.json``."""
