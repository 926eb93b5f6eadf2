"""Whether a run is finished: study, data, code and replies are unchanged, and its files are there."""

from __future__ import annotations

import functools
import hashlib
import json
import re
import sys
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from metaeval import base
from metaeval.base.records import Evaluator
from metaeval.evaluators.ensemble import Ensemble
from metaeval.kinds.registry import build
from metaeval.runs.finished import calls_of_run
from metaeval.runs.folder import RECORD, is_whole, read_record
from metaeval.runs.record import Record

if TYPE_CHECKING:
    from metaeval.kinds.scoring import Scoring
    from metaeval.study.plan import Plan


PACKAGE = "metaeval"
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
    other += ["data"] * (before.data.fingerprint != todo.fingerprint)
    when = before.finished[:16].replace("T", " ")
    sentence = f"This run replaces that of {when} in {todo.out}, which had other {', '.join(other)}"
    return f"{sentence}; --out (in Python, out=) with another folder keeps both." if other else ""


def inputs_of(todo: Plan, scoring: Scoring, *, offline: bool) -> str:
    """Return a SHA-256 of all that the outputs of a run depend on, except the replies of judges.

    It is empty if an evaluator is not of this package: its code may change unseen.
    """
    truth = build(str(todo.truth), known=todo.known, models=todo.study.models)
    if not all(_is_ours(e) for e in (truth, *scoring.named.values())):
        return ""
    data = todo.data
    dependencies = {
        "code": code(),
        "study": todo.study.model_dump(mode="json"),
        "data": [todo.fingerprint, *(getattr(data, name) for name in _OF_DATA), dict(data.extra)],
        "evaluators": {name: scoring.signature(name) for name in scoring.named},
        "truth": dict(truth.signature(data)),
        "offline": offline,
    }
    text = json.dumps(dependencies, sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _is_ours(evaluator: Evaluator) -> bool:
    inside = evaluator.parts if isinstance(evaluator, Ensemble) else ()
    return type(evaluator).__module__.startswith(f"{PACKAGE}.") and all(map(_is_ours, inside))


@functools.cache
def code() -> str:
    """Return a SHA-256 of all code that a score depends on.

    It is that of the files of this package, which may change without a new version, and of the versions of
    Python and of the libraries that the package is installed with.
    """
    digest = hashlib.sha256(f"{sys.version} {libraries()}".encode())
    root = Path(base.__file__).parent.parent
    for file in sorted(p for p in root.rglob("*") if p.parent.name != "__pycache__" and p.is_file()):
        content = file.read_bytes()
        digest.update(f"{file.relative_to(root).as_posix()} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()


@functools.cache
def libraries() -> dict[str, str]:
    """Return name and version of each library that this package requires, but for those of its extras."""
    lines = [line for line in metadata.requires(PACKAGE) or () if "extra ==" not in line]
    wanted = {_plain(re.split(r"[^\w.-]", line)[0]) for line in lines}
    # By the names of the installers' folders: to read what is in them takes fifty times as long.
    installed = sorted(p.stem.split("-") for path in sys.path if path for p in Path(path).glob("*.dist-info"))
    return {plain: version for name, version, *_ in installed if (plain := _plain(name)) in wanted}


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
