"""Published studies, made again: each cell that a paper prints is held against what its files give.

A study is a folder of ``studies/published`` with ``source.yaml`` (paper, repository, files with digests, and
the steps, which are commands of metaeval), ``published.csv`` (the cells), and the study files and maps that
its steps name. The released files are in its folder ``files`` where they are few and their licence allows it;
`fetch` gets others from their pinned address.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pydantic import Field

from metaeval.base.counts import counted
from metaeval.base.errors import MetaevalError, one_of, sound
from metaeval.base.files import bundled, write_text
from metaeval.base.progress import progress
from metaeval.base.validation import Strict, read_model
from metaeval.data.download import download, sha256_of

FOLDER, SOURCE, CELLS, FILES = "studies/published", "source.yaml", "published.csv", "files"
RESULTS = "results/published"
"""Where what is made and fetched goes, if nothing else is said."""
EQUAL, EXPLAINED, OPEN = "equal", "differs, explained", "differs"
_NEEDED = ("table", "cell", "file", "row", "column", "value", "digits")
_ABOUT = ("evaluator", "generator", "system", "policy", "estimator", "mean")
"""Names in a cell's ``row`` of what the paper compares, the first that is there."""
_EXACT = 1e-9
_STEPS = """
import json, sys
from metaeval.cli import main
for number, words in enumerate(json.loads(sys.argv[1])):
    print(number, file=sys.stderr, flush=True)
    if main(["--quiet", *words]):
        sys.exit(1)
"""
"""Python starts once for a study, and says on stderr at which step it is."""
_OVER = re.compile(r"(?P<how>mean|std)\((?P<column>.+)\)")


class FirstTwo(Strict):
    """The paper's best and second, and the test of their difference."""

    first: str
    second: str
    tests: str = "run/tests.csv"


class PublishedSource(Strict):
    """``source.yaml``."""

    title: str
    paper: str
    repository: str
    commit: str = ""
    """Empty, where the digests of the files alone pin what was released."""
    address: str = ""
    """Where the files lie below, at that commit; empty, if they are shipped, or were renamed or packed."""
    licence: str
    files: dict[str, str]
    """Path → SHA-256."""
    steps: list[str]
    """Commands, with ``{from}`` (the released files), ``{here}`` (the study's folder) and ``{out}``."""
    needs: dict[str, str] = Field(default_factory=dict)
    """Optional libraries of the steps: module → extra of metaeval."""
    first_two: FirstTwo | None = None
    notes: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Reproduced:
    """A study that was made again."""

    name: str
    source: PublishedSource
    cells: pd.DataFrame
    """A row per cell: the columns of the sheet; whom it is about (``about``), in which column of the paper's
    table (``series``), and the numbers of its row (``low``, ``high``, ``unread``)."""
    first_two: str
    seconds: float

    def count(self, state: str) -> int:
        """Return how many cells are in a state."""
        return int((self.cells["state"] == state).sum())


def published_studies() -> dict[str, Path]:
    """Return the folder of each study, by name."""
    return {p.parent.name: p.parent for p in sorted(bundled(FOLDER).glob(f"*/{SOURCE}"))}


def folder_of(study: str) -> Path:
    """Return the folder of a study, given its name or that folder; `MetaevalError` if there is none."""
    if (Path(study) / SOURCE).is_file():
        return Path(study).resolve()
    known = published_studies()
    return known[one_of(study, known, "there is no study", "there are")]


def source_of(study: str) -> PublishedSource:
    """Return what a study says of its source, given its name or folder; `MetaevalError` if there is none."""
    return sound(read_model(folder_of(study) / SOURCE, PublishedSource))


def fetch(name: str, out: str | os.PathLike[str]) -> Path:
    """Download the released files of a study to a folder, and return it; those that are there are kept.

    `MetaevalError` is raised if there is no such study, it has no pinned address, or a file cannot be had or
    is not the one that was released. The same call goes on where a download broke off.
    """
    source, folder = source_of(name), Path(out)
    if not source.address or not source.commit or source.commit not in source.address:
        raise MetaevalError(f"{name} has no pinned address; get its files from {source.repository}")
    with progress("downloading", len(source.files)) as advance:
        for file, digest in source.files.items():
            if not (folder / file).is_file() or sha256_of(folder / file) != digest:
                download(source.address.rstrip("/") + "/" + file, digest, folder / file)
            advance()
    return folder


def reproduce(
    names: Sequence[str], place: str | os.PathLike[str] | None, out: str | os.PathLike[str]
) -> tuple[list[Reproduced], list[str]]:
    """Make studies again and compare every published cell.

    Parameters
    ----------
    names
        Of studies, or their folders; ``all`` stands for all named ones whose files are there.
    place
        The folder of the released files, in a folder per study or as they are; they are also looked for among
        those that are shipped, and in ``out``, to which `fetch` brings them.
    out
        Gets a folder per study, with ``cells.csv``.

    Returns
    -------
    The studies, and the names of those of ``all`` whose files or optional library are not there.

    Raises
    ------
    MetaevalError
        If there is no such study, a file is missing or is not the one that was released, or a step fails.
    """
    if place is not None and not Path(place).is_dir():
        raise MetaevalError(f"there is no folder {place}")
    named = [folder_of(n) for n in names if n != "all"]
    rest = [f for f in published_studies().values() if f not in named] if "all" in names else []
    given = sorted({*named, *rest}, key=lambda folder: folder.name)
    lacking = {}
    for folder in rest:
        source = source_of(str(folder))
        without = [extra for module, extra in source.needs.items() if find_spec(module) is None]
        if without:
            lacking[folder] = f"{folder.name} (pip install 'metaeval[{','.join(without)}]')"
        elif _found(folder, source, place, Path(out) / folder.name) is None:
            lacking[folder] = folder.name
    made = []
    with progress("studies", len(given) - len(lacking)) as advance:
        for folder in given:
            if folder not in lacking:
                made.append(_reproduced(folder, place, Path(out) / folder.name))
                advance()
    return made, list(lacking.values())


def _reproduced(folder: Path, place: str | os.PathLike[str] | None, out: Path) -> Reproduced:
    name, source = folder.name, source_of(str(folder))
    files = _files(folder, source, place, out)
    since = time.monotonic()
    if out.is_dir():
        for old in out.iterdir():  # so that nothing of an earlier time is compared
            if old.name != FILES:
                shutil.rmtree(old) if old.is_dir() else old.unlink()
    out.mkdir(parents=True, exist_ok=True)
    _run(name, source.steps, {"from": str(files), "here": str(folder), "out": str(out)}, out)
    rows = list(_compared(name, folder / CELLS, out))
    cells = pd.DataFrame(rows)
    write_text(out / "cells.csv", cells.to_csv(index=False))
    return Reproduced(name, source, cells, _first_two(source, out), time.monotonic() - since)


def _places(folder: Path, place: str | os.PathLike[str] | None, out: Path) -> list[Path]:
    """Return where the released files may be."""
    name, given = folder.name, [] if place is None else [Path(place)]
    below = [Path(p) / n for p in given for n in (name, name.replace("_", "/", 1))]
    return [*below, *given, folder / FILES, out / FILES]


def _found(
    folder: Path, source: PublishedSource, place: str | os.PathLike[str] | None, out: Path
) -> Path | None:
    """Return the folder that has all released files."""
    places = _places(folder, place, out)
    return next((p for p in places if all((p / file).is_file() for file in source.files)), None)


def _files(folder: Path, source: PublishedSource, place: str | os.PathLike[str] | None, out: Path) -> Path:
    """Return where the released files are, each as its digest says."""
    name, found = folder.name, _found(folder, source, place, out)
    if found is None:
        where = out / FILES if place is None else Path(place)
        lacking = next(file for file in source.files if not (where / file).is_file())
        get = f"metaeval data fetch {name}" if source.address else f"get the files from {source.repository}"
        raise MetaevalError(
            f"{name}: there is no {lacking} in {where}; {get}, or say where the files are with --from FOLDER"
        )
    for file, digest in source.files.items():
        if (own := sha256_of(found / file)) != digest:
            raise MetaevalError(
                f"{name}: {found / file} is not the released file: its SHA-256 differs (it is {own})"
            )
    return found.resolve()


def _run(name: str, steps: Sequence[str], values: dict[str, str], out: Path) -> None:
    """Run commands of metaeval in the study's folder of results, all in one process."""
    words = [[word.format(**values) for word in shlex.split(step)] for step in steps]
    command = [sys.executable, "-c", _STEPS, json.dumps(words)]
    # The steps are those of the repository, or of a folder that the user made.
    done = subprocess.run(command, cwd=out, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        lines = done.stderr.splitlines()
        step = steps[max((int(line) for line in lines if line.isdigit()), default=0)]
        spoken = [line for line in (*done.stdout.splitlines(), *lines) if line.strip() and not line.isdigit()]
        said = spoken[-1] if spoken else "nothing"
        raise MetaevalError(f"{name}: the step `metaeval {step}` failed: {said}")


def _compared(name: str, path: Path, out: Path) -> Iterator[dict[str, Any]]:
    """Yield a row for each published cell."""
    cells = pd.read_csv(path, dtype=str, keep_default_na=False)
    if lacking := [column for column in _NEEDED if column not in cells]:
        raise MetaevalError(f"{path} has no column {lacking[0]!r}; it needs {', '.join(_NEEDED)}")
    tables: dict[str, pd.DataFrame] = {}
    for cell in cells.to_dict("records"):
        file = str(cell["file"])
        if file not in tables:
            tables[file] = _table(out / file)
        found, numbers = _value(tables[file], str(cell["row"]), str(cell["column"]), cell)
        digits, times = int(cell["digits"]), float(cell.get("times") or 1)
        low, high = sorted(end * times for end in _ends(numbers, str(cell["column"])))
        published, why = float(cell["value"]), str(cell.get("why", ""))
        state = EQUAL if _same(found * times, published, digits) else OPEN
        if state == OPEN and why and _same(found * times, float(cell["instead"] or "nan"), digits):
            state = EXPLAINED
        yield {
            "study": name,
            "table": cell["table"],
            "cell": cell["cell"],
            "published": cell["value"],
            "made": "nothing" if np.isnan(found) else f"{found * times:.{digits}f}",
            "interval": None if np.isnan(low) else f"{low:.{digits}f} to {high:.{digits}f}",
            "state": state,
            "why": why if state == EXPLAINED else "",
            **_place(str(cell["row"]), str(cell["column"])),
            "low": low,
            "high": high,
            "unread": float(numbers.get("unread", np.nan)),
        }


def _table(path: Path) -> pd.DataFrame:
    if not path.is_file():
        raise MetaevalError(f"a cell names {path}, which no step wrote")
    return pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_csv(path, keep_default_na=False)


def _value(
    table: pd.DataFrame, row: str, column: str, cell: dict[Any, Any]
) -> tuple[float, pd.Series[float]]:
    """Return the number in a column of the row with the values ``NAME=VALUE; …``, and all of the row.

    Of several values, ``A|B``, each fits. ``mean(COLUMN)`` and ``std(COLUMN)`` are over all rows that fit.
    """
    chosen = table
    for name, value in _selected(row).items():
        if name not in chosen:
            raise MetaevalError(f"the cell {cell['cell']!r}: {cell['file']} has no column {name!r}")
        chosen = chosen[chosen[name].astype(str).isin(value.split("|"))]
    if column == "count()":
        return float(len(chosen)), pd.Series(dtype=float)
    over = _OVER.fullmatch(column)
    column = over["column"] if over else column
    if (len(chosen) != 1 and not (over and len(chosen))) or column not in chosen:
        what = f"{counted(len(chosen), 'row')} with {row}"
        if column not in chosen:
            what = f"no column {column!r}, but {', '.join(map(str, table.columns))}"
        elif len(chosen):
            texts = chosen.select_dtypes(exclude="number").columns
            parts = next(([f"{c}={v}" for v in chosen[c]] for c in texts if len(set(chosen[c])) > 1), [])
            what += f"; add to it {' or '.join(parts)}" if parts else ""
        raise MetaevalError(f"the cell {cell['cell']!r}: {cell['file']} has {what}")
    numbers = chosen.apply(pd.to_numeric, errors="coerce")
    if over:
        values = numbers[column].to_numpy()
        return float(values.mean() if over["how"] == "mean" else values.std()), pd.Series(dtype=float)
    return float(numbers[column].iloc[0]), numbers.iloc[0]


def _selected(row: str) -> dict[str, str]:
    """Return the values of ``NAME=VALUE; …``."""
    parts = (part.strip().partition("=") for part in row.split(";") if part.strip())
    return {name: value for name, _, value in parts}


def _place(row: str, column: str) -> dict[str, str]:
    """Return who a cell is about, and the column of the paper's table in which it stands with the others."""
    chosen = _selected(row)
    by = next((name for name in _ABOUT if name in chosen), None)
    rest = "; ".join(f"{name}={value}" for name, value in chosen.items() if name != by)
    return {"about": chosen[by] if by else "", "series": f"{column} of {rest}" if rest else column}


def _ends(numbers: pd.Series[float], column: str) -> tuple[float, float]:
    """Return the ends of the interval of a number, which stand in its row; NaN without any."""
    own = column in {"estimate", "value", "tau"}
    for stem in (f"{column}_", f"{column.removesuffix('mean')}ci_", *(["ci_"] if own else [])):
        low, high = (float(numbers.get(f"{stem}{end}", np.nan)) for end in ("low", "high"))
        if not np.isnan([low, high]).any():
            return low, high
    return np.nan, np.nan


def _same(found: float, published: float, digits: int) -> bool:
    """Say whether a number has the printed digits."""
    return bool(abs(found - published) <= 0.5 * 10.0**-digits + _EXACT * max(1.0, abs(published)))


def _first_two(source: PublishedSource, out: Path) -> str:
    """Say in words whether the paper's best is better than its second."""
    if source.first_two is None:
        return ""
    best, second = source.first_two.first, source.first_two.second
    tests = _table(out / source.first_two.tests)
    for one, other in ((best, second), (second, best)):
        row = tests[(tests["first"] == one) & (tests["second"] == other)]
        if len(row):
            p = float(row["p"].iloc[0])
            return f"{'yes' if p < 0.05 else 'not shown'}: {best} over {second}, p = {p:.2g}"
    raise MetaevalError(f"{source.first_two.tests} has no test of {best} and {second}")
