"""Whether a run is finished: study, data, code and replies are the same, and all that it wrote is there."""

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
from metaeval.kinds.scoring import Scoring
from metaeval.runs.folder import RECORD, is_whole, read_record
from metaeval.runs.replies import calls_of_run

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from metaeval.base.records import Evaluator
    from metaeval.runs.record import Record
    from metaeval.study.plan import Plan


def finished(todo: Plan, *, offline: bool = False) -> Record | None:
    """Return what ``run.json`` says if running the study would make the same again, else None.

    A run that lost calls is not finished: running it again asks for them again.

    Raises
    ------
    RunFolderError
        If there is a ``run.json`` that no run wrote.
    """
    if not (todo.out / RECORD).is_file():
        return None
    record = read_record(todo.out)
    if not record.is_done or record.lost or not record.inputs:
        return None
    kept = record.replies
    scoring = Scoring(todo.data, todo.study.specs, todo.aspects, todo.known)
    same = (
        record.inputs == inputs_of(todo, scoring, offline=offline)
        and is_whole(todo.out, record)
        and (kept is None or kept.holds(todo.study.judging.path, lambda: calls_of_run(todo.out, record)))
    )
    return record if same else None


def inputs_of(todo: Plan, scoring: Scoring, *, offline: bool) -> str:
    """Return one SHA-256 of all that the outputs of a run depend on, but for the replies of judges.

    It is empty where that cannot be told: an evaluator that somebody else wrote may be another tomorrow.
    """
    truth = build(str(todo.truth), known=todo.known)
    if not all(_is_ours(e) for e in (truth, *scoring.named.values())):
        return ""
    data = todo.data
    found = {
        "code": _code(),
        "python": sys.version,
        "packages": _packages(),
        "study": todo.study.model_dump(mode="json"),
        "data": [
            data.fingerprint,
            data.name,
            data.licence,
            data.source,
            data.language,
            data.simulated,
            dict(data.extra),
        ],
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
    """Return a SHA-256 of the files of this package: a checkout changes without a new version."""
    digest = hashlib.sha256()
    root = Path(metaeval.__file__).parent
    for file in sorted(_files(root.iterdir())):
        content = file.read_bytes()
        digest.update(f"{file.relative_to(root).as_posix()} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()


def _files(paths: Iterable[Path]) -> Iterator[Path]:
    for path in paths:
        if path.is_file():
            yield path
        elif path.name != "__pycache__":
            yield from _files(path.iterdir())


@functools.cache
def _packages() -> list[str]:
    """Return everything that is installed, with its version: a module of `evaluate` may use any of it.

    They are the names of the folders in which installers note what they installed; to read what is in all of
    them would take a tenth of a second.
    """
    folders = {Path(entry) for entry in sys.path if entry}
    return sorted(p.name for folder in folders if folder.is_dir() for p in folder.glob("*.dist-info"))
