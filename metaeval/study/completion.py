"""Whether a run is finished: study, data, code and replies are unchanged, and its files are there."""

from __future__ import annotations

import functools
import hashlib
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import metaeval
from metaeval.evaluators.ensemble import Ensemble
from metaeval.kinds.registry import build
from metaeval.runs.folder import RECORD, is_whole, read_record
from metaeval.runs.replies import calls_of_run

if TYPE_CHECKING:
    from metaeval.base.records import Evaluator
    from metaeval.kinds.scoring import Scoring
    from metaeval.runs.record import Record
    from metaeval.study.plan import Plan


_OF_PLACES = ("dataset", "judging")  # keys of a study that say where something lies or how it is asked
_OF_DATA = ("name", "licence", "source", "language", "simulated")


def finished(todo: Plan, *, offline: bool = False) -> Record | None:
    """Return the record of a run that would come out the same if it were run again, else None.

    A run that lost calls is not finished: running it again makes them again.
    """
    if not (todo.out / RECORD).is_file():
        return None
    record = read_record(todo.out)
    if not record.is_done or record.lost or not record.inputs:
        return None
    kept = record.replies
    same = (
        record.inputs == inputs_of(todo, todo.scoring(), offline=offline)
        and is_whole(todo.out, record)
        and (kept is None or kept.holds(todo.study.judging.place, lambda: calls_of_run(todo.out, record)))
    )
    return record if same else None


def replaces(todo: Plan) -> str:
    """Return a sentence on the finished run that a run will replace, if that is of another study."""
    if not (todo.out / RECORD).is_file() or not (before := read_record(todo.out)).is_done:
        return ""
    then, now = before.study.content(), todo.study.model_dump(mode="json")
    other = [key for key in now if key not in _OF_PLACES and key in then and then[key] != now[key]]
    held = {spec: evaluator.signature(todo.data) for spec, evaluator in todo.study.held.evaluators.items()}
    code = any(
        e.spec in held and held[e.spec].get("code") != e.signature.get("code")
        for e in before.evaluators.values()
    )
    other += ["code of functions"] * code + ["data"] * (before.data.fingerprint != todo.fingerprint)
    when = before.finished[:16].replace("T", " ")
    told = f"This run replaces that of {when} in {todo.out}, which had other {', '.join(other)}"
    return f"{told}; --out (in Python, out=) with another folder keeps both." if other else ""


def inputs_of(todo: Plan, scoring: Scoring, *, offline: bool) -> str:
    """Return a SHA-256 of all that the outputs of a run depend on, except the replies of judges.

    It is empty if an evaluator is not of this package: its code may change unseen.
    """
    truth = build(str(todo.truth), known=todo.known, models=todo.study.models)
    if not all(_is_ours(e) for e in (truth, *scoring.named.values())):
        return ""
    data = todo.data
    found = {
        "code": _code(),
        "python": sys.version,
        "packages": _packages(),
        "study": todo.study.model_dump(mode="json"),
        "data": [todo.fingerprint, *(getattr(data, name) for name in _OF_DATA), dict(data.extra)],
        "evaluators": {name: scoring.signature(name) for name in scoring.named},
        "truth": dict(truth.signature(data)),
        "offline": offline,
    }
    text = json.dumps(found, sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _is_ours(evaluator: Evaluator) -> bool:
    inside = evaluator.parts if isinstance(evaluator, Ensemble) else ()
    return type(evaluator).__module__.startswith(f"{metaeval.__name__}.") and all(map(_is_ours, inside))


@functools.cache
def _code() -> str:
    """Return a SHA-256 of the files of this package, which may change without a new version."""
    digest = hashlib.sha256()
    root = Path(metaeval.__file__).parent
    for file in sorted(p for p in root.rglob("*") if p.parent.name != "__pycache__" and p.is_file()):
        content = file.read_bytes()
        digest.update(f"{file.relative_to(root).as_posix()} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()


@functools.cache
def _packages() -> list[str]:
    """Return all installed packages with their versions: a module of `evaluate` may use any of them.

    They are the names of the installers' folders; to read all of those would take a tenth of a second.
    """
    folders = {Path(entry) for entry in sys.path if entry}
    return sorted(p.name for folder in folders if folder.is_dir() for p in folder.glob("*.dist-info"))
