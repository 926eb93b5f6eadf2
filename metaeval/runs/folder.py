"""A run folder: one run at a time, whole files or none, and the work of a run that broke off."""

from __future__ import annotations

import contextlib
import hashlib
import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from metaeval.base.errors import MetaevalError, RunFolderError, StoppedError
from metaeval.base.files import replacing, unusable, write_text
from metaeval.base.records import Kind, ScoreTable
from metaeval.engine.correlation import CORRELATIONS
from metaeval.runs.record import Record

RECORD = "run.json"
SCORES = "scores.parquet"
TRUTH = "truth.parquet"
BOARD = "board.csv"
COSTS = "cost.csv"
COST_TABLE = "cost.md"
RATERS = "raters.parquet"
VERDICTS = "verdicts.parquet"
RANKING = "ranking.csv"
TESTS = "tests.csv"
DETAILS = "details.md"
REPORT = "report.html"
ANSWER = "answer.json"
CALIBRATION = "calibration.json"
PROMPTS = "prompts"
"""The folder of prompts that were written for a run."""
SEALED = "sealed"
"""The folder in a run folder with what is sealed."""
LEADERBOARDS = ("leaderboard.csv", "leaderboard.md", "leaderboard.tex")
OUTPUTS = (SCORES, TRUTH, CORRELATIONS, RANKING, *LEADERBOARDS, ANSWER, REPORT)
"""What every run leaves beside its record."""
OPTIONAL = (BOARD, RATERS, VERDICTS, TESTS, DETAILS, COSTS, COST_TABLE, CALIBRATION)
"""What a run leaves if there is something for it, and what `metaeval calibrate` adds."""
_LOCK = ".lock"
_PARTS = ".parts"


def check_usable(path: Path) -> None:
    """Check that a run can be written to ``path``: it is new, empty, or a run folder."""
    if not path.exists():
        if why := unusable(path):
            raise RunFolderError(f"{path} cannot be a run folder: {why}; give another --out")
        return
    if not path.is_dir():
        raise RunFolderError(f"{path} is a file, not a run folder; give another --out")
    names = {p.name for p in path.iterdir()}
    if RECORD in names:
        read_record(path)
    elif _LOCK not in names and not names <= {*OUTPUTS, *OPTIONAL, PROMPTS}:
        strange = sorted(names - {*OUTPUTS, *OPTIONAL, PROMPTS})[0]
        raise RunFolderError(
            f"{path} holds {strange!r} and is not a run folder; give an empty or a new folder with --out"
        )


def read_record(path: Path) -> Record:
    """Read ``run.json``."""
    if path.is_file():
        raise RunFolderError(f"{path} is a file, not a run folder; give the folder that a run wrote")
    if not path.is_dir():
        raise RunFolderError(
            f"there is no run folder {path}; make one with: metaeval run STUDY.yaml --out {path}"
        )
    try:
        return Record.model_validate(json.loads((path / RECORD).read_text(encoding="utf-8")))
    except FileNotFoundError:
        raise RunFolderError(f"{path} is not a run folder: it has no {RECORD}") from None
    except ValidationError as error:
        raise RunFolderError(
            f"{path} is not a run folder of the layout that this metaeval reads; run the study again, into "
            "another folder"
        ) from error
    except (ValueError, RecursionError) as error:
        raise RunFolderError(f"{path / RECORD} is not JSON; this is not a run folder") from error


def is_held(path: Path) -> bool:
    """Say whether a process is at work in a run folder."""
    from filelock import FileLock, Timeout

    if not (path / _LOCK).is_file():
        return False
    try:
        with FileLock(path / _LOCK, blocking=False):
            return False
    except Timeout:
        return True
    except OSError:  # a folder that can only be read
        return False


def read_output(path: Path, name: str, record: Record | None = None) -> Path:
    """Return the path of an output of a finished run, if it is as the run wrote it.

    ``record`` is the record of the run, if it was read before.
    """
    record = read_record(path) if record is None else record
    if not record.is_done:
        raise RunFolderError(f"the run in {path} is not finished; run its study again to finish it")
    file = path / name
    if not file.is_file() or digest_of(file) != record.outputs.get(name):
        raise RunFolderError(f"{file} is not the file that the run wrote; run its study again")
    return file


def rewrite_output(path: Path, name: str, change: Callable[[str], str]) -> None:
    """Change the text of an output of a finished run, and its digest in ``run.json``."""
    record = read_record(path)
    text = change(read_output(path, name, record).read_text(encoding="utf-8"))
    # Entered first, so put in its place last.
    with replacing(path / RECORD) as last, replacing(path / name) as output:
        output.write_text(text, encoding="utf-8", newline="\n")
        outputs = {**record.outputs, name: digest_of(output)}
        last.write_text(_json(record.having(outputs=outputs)), encoding="utf-8", newline="\n")


def is_whole(path: Path, record: Record) -> bool:
    """Say whether all outputs of a finished run are there, as it wrote them."""
    files = {path / name: digest for name, digest in record.outputs.items()}
    return all(file.is_file() and digest_of(file) == digest for file, digest in files.items())


def _json(record: Record) -> str:
    return json.dumps(record.content(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def digest_of(file: Path) -> str:
    """Return the SHA-256 of a file."""
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


@dataclass(frozen=True, slots=True)
class RunFolder:
    """A run folder that is held by this process."""

    path: Path

    @classmethod
    @contextlib.contextmanager
    def claim(cls, path: Path) -> Iterator[RunFolder]:
        """Hold ``path`` for one run, and refuse a second one. A killed process holds nothing.

        A new folder is removed if the input proves wrong, or the run breaks off with nothing to keep.
        """
        from filelock import FileLock, Timeout

        check_usable(path)
        new = not path.exists()
        path.mkdir(parents=True, exist_ok=True)
        lock = FileLock(path / _LOCK)
        try:
            lock.acquire(blocking=False)
        except Timeout:
            raise RunFolderError(
                f"{path} is in use by another run; wait until it is done, or give another --out"
            ) from None
        for stale in path.glob(".*.tmp.*"):  # of a process that was killed while it wrote
            stale.unlink(missing_ok=True)
        try:
            yield cls(path)
        except BaseException as error:
            wrong = isinstance(error, MetaevalError) and not isinstance(error, StoppedError)
            if new and (wrong or not any((path / n).exists() for n in (RECORD, _PARTS))):
                shutil.rmtree(path / _PARTS, ignore_errors=True)
                for name in (RECORD, _LOCK):
                    (path / name).unlink(missing_ok=True)
                with contextlib.suppress(OSError):  # someone put a file there
                    path.rmdir()
            raise
        finally:
            lock.release()

    def write_record(self, record: Record) -> None:
        """Write ``run.json``."""
        write_text(self.path / RECORD, _json(record))

    def part(self, key: str) -> ScoreTable | None:
        """Return the scores of one evaluator that a broken-off run kept, if there are any."""
        import pandas as pd

        try:
            frame = pd.read_parquet(self._part_file(key))
            kinds = {name: Kind(kind) for name, kind in frame.attrs["kinds"].items()}
            of_pairs = frame.attrs["verdicts"]
            verdicts = pd.read_parquet(self._part_file(f"{key}.verdicts")) if of_pairs else None
        except (OSError, KeyError, ValueError):
            return None  # there is none, or none of ours: the scores are made again
        signatures, frame.attrs = frame.attrs["signatures"], {}
        return ScoreTable(frame, signatures, kinds, verdicts=verdicts)

    def keep_part(self, key: str, table: ScoreTable) -> None:
        """Keep the scores of one evaluator until the run is finished."""
        if table.verdicts is not None:  # first, so that a part is never without them
            with replacing(self._part_file(f"{key}.verdicts")) as temporary:
                table.verdicts.to_parquet(temporary, index=False)
        frame = table.frame.copy(deep=False)
        frame.attrs = {
            "signatures": {k: dict(v) for k, v in table.signatures.items()},
            "kinds": {k: str(v) for k, v in table.kinds.items()},
            "verdicts": table.verdicts is not None,
        }
        with replacing(self._part_file(key)) as temporary:
            frame.to_parquet(temporary, index=False)

    def finish(self, writers: Mapping[str, Callable[[Path], object]], record: Record) -> Record:
        """Write all outputs, then ``run.json`` with their digests; drop the parts.

        Nothing is put in its place before everything is written.
        """
        with contextlib.ExitStack() as stack:
            # Entered first, so put in its place last.
            last = stack.enter_context(replacing(self.path / RECORD))
            digests = {}
            for name, write in writers.items():
                temporary = stack.enter_context(replacing(self.path / name))
                write(temporary)
                digests[name] = digest_of(temporary)
            text = _json(record.having(outputs=digests))
            last.write_text(text, encoding="utf-8", newline="\n")
        shutil.rmtree(self.path / _PARTS, ignore_errors=True)
        return Record.model_validate_json(text)  # as whoever reads it finds it

    def _part_file(self, key: str) -> Path:
        return self.path / _PARTS / f"{key}.parquet"
