"""Published studies, made again: each cell that a paper prints is held against what its files give.

A study is a folder of ``studies/published`` with ``source.yaml`` (paper, repository, files with digests, and
the steps, which are commands of metaeval), ``published.csv`` (the cells), and the study files and maps that
its steps name. The released files are in its folder ``files`` where they are few and their licence allows it;
`fetch` gets others from their pinned address.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from metaeval.base.counts import counted
from metaeval.base.errors import MetaevalError, one_of, sound
from metaeval.base.files import bundled, write_text
from metaeval.base.progress import progress
from metaeval.base.validation import Strict, read_model
from metaeval.data.download import download, sha256_of
from metaeval.engine.sheet import Column, Sheet

FOLDER, SOURCE, CELLS, FILES = "studies/published", "source.yaml", "published.csv", "files"
RESULTS = "results/published"
"""Where what is made and fetched goes, if nothing else is said."""
EQUAL, EXPLAINED, OPEN = "equal", "differs, explained", "differs"
_NEEDED = ("table", "cell", "file", "row", "column", "value", "digits")
_EXACT = 1e-9
_CELL_COLUMNS = (
    Column("study", "Study"),
    Column("table", "Table"),
    Column("cell", "Cell"),
    Column("published", "Published"),
    Column("made", "Made again"),
    Column("interval", "Interval"),
    Column("state", "State"),
    Column("why", "Why"),
)
_STUDY_COLUMNS = (
    Column("study", "Study"),
    Column("paper", "Paper"),
    Column("cells", "Cells", "count"),
    Column("equal", "Equal", "count"),
    Column("explained", "Explained", "count"),
    Column("open", "Open", "count"),
    Column("first_two", "Is its best better than its second?"),
    Column("seconds", "Seconds", "count"),
)


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
    first_two: FirstTwo | None = None
    notes: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Reproduced:
    """A study that was made again."""

    name: str
    source: PublishedSource
    cells: pd.DataFrame
    """A row per cell: the columns of the sheet."""
    first_two: str
    seconds: float

    def count(self, state: str) -> int:
        """Return how many cells are in a state."""
        return int((self.cells["state"] == state).sum())


def published_studies() -> dict[str, Path]:
    """Return the folder of each study, by name."""
    return {p.parent.name: p.parent for p in sorted(bundled(FOLDER).glob(f"*/{SOURCE}"))}


def source_of(name: str) -> PublishedSource:
    """Return what a study says of its source; `MetaevalError` if there is no such study."""
    known = published_studies()
    return sound(
        read_model(known[one_of(name, known, "there is no study", "there are")] / SOURCE, PublishedSource)
    )


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
        Of studies; ``all`` stands for all whose files are there.
    place
        The folder of the released files, in a folder per study or as they are; they are also looked for among
        those that are shipped, and in ``out``, to which `fetch` brings them.
    out
        Gets a folder per study, with ``cells.csv``.

    Returns
    -------
    The studies, and the names of those of ``all`` whose files are not there.

    Raises
    ------
    MetaevalError
        If there is no such study, a file is missing or is not the one that was released, or a step fails.
    """
    if place is not None and not Path(place).is_dir():
        raise MetaevalError(f"there is no folder {place}")
    known = published_studies()
    wanted = [one_of(n, [*known, "all"], "there is no study", "there are") for n in names]
    given = [n for n in known if "all" in wanted or n in wanted]
    found = {n: _found(n, source_of(n), place, Path(out) / n) for n in given}
    lacking = [n for n, files in found.items() if files is None and n not in wanted]
    made = []
    with progress("studies", len(given) - len(lacking)) as advance:
        for name in given:
            if name not in lacking:
                made.append(_reproduced(name, known[name], place, Path(out) / name))
                advance()
    return made, lacking


def _reproduced(name: str, folder: Path, place: str | os.PathLike[str] | None, out: Path) -> Reproduced:
    source = source_of(name)
    files = _files(name, source, place, out)
    since = time.monotonic()
    if out.is_dir():
        for old in out.iterdir():  # so that nothing of an earlier time is compared
            if old.name != FILES:
                shutil.rmtree(old) if old.is_dir() else old.unlink()
    out.mkdir(parents=True, exist_ok=True)
    for step in source.steps:
        _run(name, step, {"from": str(files), "here": str(folder), "out": str(out)}, out)
    rows = list(_compared(name, folder / CELLS, out))
    cells = pd.DataFrame(rows)
    write_text(out / "cells.csv", cells.to_csv(index=False))
    return Reproduced(name, source, cells, _first_two(source, out), time.monotonic() - since)


def _places(name: str, place: str | os.PathLike[str] | None, out: Path) -> list[Path]:
    """Return where the released files may be."""
    given = (
        () if place is None else (Path(place) / name, Path(place) / name.replace("_", "/", 1), Path(place))
    )
    return [*given, published_studies()[name] / FILES, out / FILES]


def _found(
    name: str, source: PublishedSource, place: str | os.PathLike[str] | None, out: Path
) -> Path | None:
    """Return the folder that has all released files."""
    places = _places(name, place, out)
    return next((p for p in places if all((p / file).is_file() for file in source.files)), None)


def _files(name: str, source: PublishedSource, place: str | os.PathLike[str] | None, out: Path) -> Path:
    """Return where the released files are, each as its digest says."""
    found = _found(name, source, place, out)
    if found is None:
        where = out / FILES if place is None else Path(place)
        lacking = next(file for file in source.files if not (where / file).is_file())
        get = f"metaeval data fetch {name}" if source.address else f"get the files from {source.repository}"
        raise MetaevalError(
            f"{name}: there is no {lacking} in {where}; {get}, or say where the files are with --from FOLDER"
        )
    for file, digest in source.files.items():
        if sha256_of(found / file) != digest:
            raise MetaevalError(f"{name}: {found / file} is not the released file: its SHA-256 differs")
    return found.resolve()


def _run(name: str, step: str, values: dict[str, str], out: Path) -> None:
    """Run a command of metaeval in the study's folder of results."""
    words = [word.format(**values) for word in shlex.split(step)]
    command = [sys.executable, "-m", "metaeval", "--quiet", *words]
    # The steps are those of the repository, or of a folder that the user made.
    done = subprocess.run(command, cwd=out, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        said = (done.stderr.strip() or done.stdout.strip() or "nothing").splitlines()[-1]
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
        found, interval = _value(tables[file], str(cell["row"]), str(cell["column"]), cell)
        digits, times = int(cell["digits"]), float(cell.get("times") or 1)
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
            "interval": interval and " to ".join(f"{end * times:.{digits}f}" for end in interval),
            "state": state,
            "why": why if state == EXPLAINED else "",
        }


def _table(path: Path) -> pd.DataFrame:
    if not path.is_file():
        raise MetaevalError(f"a cell names {path}, which no step wrote")
    return pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_csv(path, keep_default_na=False)


def _value(
    table: pd.DataFrame, row: str, column: str, cell: dict[Any, Any]
) -> tuple[float, tuple[float, float] | None]:
    """Return the number in a column of the one row with the values ``NAME=VALUE; …``, and its interval."""
    chosen = table
    for part in filter(None, (p.strip() for p in row.split(";"))):
        name, _, value = part.partition("=")
        if name not in chosen:
            raise MetaevalError(f"the cell {cell['cell']!r}: {cell['file']} has no column {name!r}")
        chosen = chosen[chosen[name].astype(str) == value]
    if column == "count()":
        return float(len(chosen)), None
    if len(chosen) != 1 or column not in chosen:
        rows = counted(len(chosen), "row")
        what = f"no column {column!r}" if column not in chosen else f"{rows} with {row}"
        raise MetaevalError(f"the cell {cell['cell']!r}: {cell['file']} has {what}")
    numbers = pd.to_numeric(chosen.iloc[0], errors="coerce")
    ends = (float(numbers.get("ci_low", np.nan)), float(numbers.get("ci_high", np.nan)))
    own = column in {"estimate", "value", "tau"}
    return float(numbers[column]), ends if own and not np.isnan(ends).any() else None


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


def cell_sheets(results: Path) -> list[Sheet]:
    """Return the cells of the studies that were made again into a folder; `MetaevalError` without any."""
    files = sorted(results.glob("*/cells.csv"))
    if not files:
        raise MetaevalError(f"{results} holds no study that was made again: metaeval reproduce all")
    cells = pd.concat([pd.read_csv(f, dtype=str, keep_default_na=False) for f in files], ignore_index=True)
    counts = [f"{int((cells['state'] == state).sum()):,} {state}" for state in (EQUAL, EXPLAINED, OPEN)]
    note = f"{counted(len(cells), 'published cell')} of {len(files)} studies made again: {'; '.join(counts)}."
    return [Sheet("cells", "The ledger", cells, _CELL_COLUMNS, (note,))]


def ledger_page(made: Sequence[Reproduced], lacking: Sequence[str] = ()) -> str:
    """Return the ledger as a page of Markdown: all studies, and the cells of each."""
    studies, *_ = ledger_sheets(made, lacking)
    again = (
        "`metaeval reproduce NAME --from FOLDER` makes any of them again; [how to add one](how-to/ledger.md)."
    )
    lines = ["# The ledger", "", *studies.notes, "", again, ""]
    lines += _markdown(studies.frame.drop(columns="seconds"))
    for one in made:
        source = one.source
        at = f" at {source.commit}" if source.commit else ", pinned by the digests of its files"
        told = f"{source.paper}. <{source.repository}>{at}. Licence: {source.licence}."
        lines += ["", f"## {one.name}", "", f"{source.title}.", told, *filter(None, [source.notes])]
        lines += [f"Is its best better than its second? {one.first_two}."] if one.first_two else []
        lines += ["", *_markdown(one.cells.drop(columns="study").fillna(""))]
    return "\n".join([*lines, ""])


def _markdown(frame: pd.DataFrame) -> list[str]:
    """Return the lines of a table."""
    names = [str(c).replace("_", " ") for c in frame.columns]
    rows = [[str(v).replace("|", "\\|") for v in row] for row in frame.itertuples(index=False, name=None)]
    return [f"| {' | '.join(row)} |" for row in (names, ["---"] * len(names), *rows)]


def ledger_sheets(
    made: Sequence[Reproduced], lacking: Sequence[str] = (), *, open_only: bool = False
) -> list[Sheet]:
    """Return the studies with their counts, and the cells; those that are equal are left out on wish.

    ``lacking`` are the names of studies that were not made, since their files are not there.
    """
    rows = [
        {
            "study": one.name,
            "paper": one.source.paper,
            "cells": len(one.cells),
            "equal": one.count(EQUAL),
            "explained": one.count(EXPLAINED),
            "open": one.count(OPEN),
            "first_two": one.first_two,
            "seconds": one.seconds,
        }
        for one in made
    ]
    total = sum(len(one.cells) for one in made)
    alike = sum(one.count(EQUAL) for one in made)
    note = (
        f"{total:,} published cells made again from the files as released: {alike:,} are equal to the digits "
        f"printed, {sum(one.count(EXPLAINED) for one in made):,} differ for a reason that was found, and "
        f"{sum(one.count(OPEN) for one in made):,} differ."
    )
    notes = [note]
    if lacking:
        notes.append(
            f"Not made, since their files are not here: {', '.join(lacking)}. `metaeval data fetch NAME` "
            "gets those with a pinned address, --from FOLDER says where others are."
        )
    cells = pd.concat([one.cells for one in made], ignore_index=True)
    if open_only:
        cells = cells[cells["state"] != EQUAL]
    sheets = [Sheet("ledger", "The ledger", pd.DataFrame(rows), _STUDY_COLUMNS, tuple(notes))]
    if len(cells):
        sheets.append(Sheet("cells", "Cells", cells.reset_index(drop=True), _CELL_COLUMNS, ()))
    return sheets
