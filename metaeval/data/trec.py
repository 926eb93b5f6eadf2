"""Labels and runs of systems in TREC's formats, or as tables with a header; plain or gzip'ed.

A line of labels is ``query iteration document label``, one of a run ``user Q0 item rank score system``.

A run may be a table of LensKit or arrays of RecBole. LensKit saves an ``ItemListCollection`` as Parquet with
a row per list, whose items stand in the column ``items``, or (``layout="flat"``, ``to_df``) with a row per
item: ``user_id``, ``item_id``, ``score`` and ``rank``. Before 2025 the columns were ``user`` and ``item``.
RecBole writes no lists: its ``full_sort_topk`` returns arrays, which NumPy saves as ``user_id`` (users),
``item_id`` and ``score`` (users × k) in ``.npz``.
"""

from __future__ import annotations

import glob
import gzip
import os
import zipfile
import zlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from metaeval.base.errors import DataError, Problem
from metaeval.data.tables.nested import flattened
from metaeval.data.tables.table import from_frame, read_table, suffix_of

Ints: TypeAlias = NDArray[np.int64] | NDArray[np.intp]

KEYS = ["query", "document"]
_QRELS = ["query", "iteration", "document", "label"]
_RUN = ["user_id", "q0", "item_id", "rank", "score", "system"]
_IDLE = {"iteration"}
_NUMBERS = {"rank": "a whole number", "score": "a finite number"}
_GZIP = b"\x1f\x8b"
_BOM = b"\xef\xbb\xbf"
_TABLES = (".csv", ".tsv", ".parquet", ".npz")
"""Suffixes of runs that are tables or arrays."""
_ITEMS = "items"  # of LensKit: the column of lists
_OLD = {"user_id": "user", "item_id": "item"}  # LensKit before 2025


def read_fields(
    path: Path, fields: Sequence[str], what: str, columns: Mapping[str, str] | None = None
) -> tuple[pd.DataFrame, list[Problem]]:
    """Return ``line`` and the fields as text, and a problem for each line that has not as many.

    ``what`` is what the file is called in the `DataError` if it is not there, or no text: "qrels file". Of a
    table (CSV, TSV), ``columns`` says which column has a field, if it has another name.
    """
    if suffix_of(path) in {".csv", ".tsv"}:
        return _of_table(path, fields, what, columns or {})
    try:
        content = path.read_bytes()
        content = gzip.decompress(content) if content.startswith(_GZIP) else content
        content.decode()
    except FileNotFoundError:
        raise DataError(f"there is no {what} {str(path)!r}") from None
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise DataError(f"{path.name} is a broken gzip file; download it again") from error
    except UnicodeDecodeError as error:
        raise DataError(
            f"{path.name} is not UTF-8 text; a line of a {what} is: {' '.join(fields)}"
        ) from error
    except OSError as error:
        raise DataError(f"the {what} {str(path)!r} cannot be read: {error.strerror}") from error
    lines = [line.split() for line in content.removeprefix(_BOM).split(b"\n")]
    whole = [line for line in lines if len(line) == len(fields)]
    frame = pd.DataFrame(
        {"line": [n for n, line in enumerate(lines, start=1) if len(line) == len(fields)]}, dtype="int64"
    )
    parts = zip(*whole, strict=True) if whole else [()] * len(fields)
    for name, column in zip(fields, parts, strict=True):
        frame[name] = pd.Series(b"\n".join(column).decode().split("\n")[: len(whole)], dtype="str")
    problems = [
        Problem(path.name, n, None, f"has {len(line)} fields; a line is: {' '.join(fields)}")
        for n, line in enumerate(lines, start=1)
        if line and len(line) != len(fields)
    ]
    return frame, problems


def _of_table(
    path: Path, fields: Sequence[str], what: str, columns: Mapping[str, str]
) -> tuple[pd.DataFrame, list[Problem]]:
    """Read the fields of a table of labels or values; those that say nothing may be absent."""
    if not path.is_file():
        raise DataError(f"there is no {what} {str(path)!r}")
    table, problems = read_table(path)
    if table is None:
        return pd.DataFrame({"line": pd.Series(dtype="int64"), **dict.fromkeys(fields, "")}), problems
    given = {field: columns.get(field, field) for field in fields}
    if lacking := [c for f, c in given.items() if c not in table.frame and f not in _IDLE]:
        raise _without(lacking[0], path, table.frame.columns, ".qrels")
    texts = {f: table.frame[c].astype(str) if c in table.frame else "0" for f, c in given.items()}
    return pd.DataFrame({"line": table.rows, **texts}).astype(dict.fromkeys(fields, "str")), problems


def _without(column: str, path: Path, there: Iterable[str], plain: str) -> DataError:
    """Return the error of a table without a column; ``plain`` is the suffix of TREC's own format."""
    have = ", ".join(map(str, there))
    message = f"is missing (there are: {have}); say what it is called with --columns FIELD=COLUMN"
    message += f", or, if the file has no header, call it {plain}" if path.suffix == ".tsv" else ""
    return DataError([Problem(path.name, None, column, message)])


def read_qrels(path: Path, columns: Mapping[str, str] | None = None) -> tuple[pd.DataFrame, list[Problem]]:
    """Return ``line``, ``query``, ``document`` and ``label``, all but the line as text, and every problem.

    Labels stay text, so that a report can show what a judge wrote in place of a label.
    """
    frame, problems = read_fields(path, _QRELS, "qrels file", columns)
    frame = frame.drop(columns="iteration")
    if not problems and frame.empty:
        problems.append(Problem(path.name, None, None, "has no labels"))
    again = frame.loc[frame.duplicated(KEYS), ["line", *KEYS]]
    problems += [
        Problem(path.name, n, None, f"query {q!r} and document {d!r} are in an earlier line, too; keep one")
        for n, q, d in again.itertuples(index=False)
    ]
    return frame, problems


def judge_files(patterns: Sequence[str | os.PathLike[str]], people: Path | None = None) -> dict[str, Path]:
    """Return the files that names and patterns mean, without the people's: stem → path, in order of stems."""
    found: dict[str, Path] = {}
    for pattern in map(str, patterns):
        # A file that is there may have a bracket or a star in its name.
        paths = [pattern] if Path(pattern).is_file() else glob.glob(pattern)  # noqa: PTH207 - patterns may be absolute
        matching = sorted(Path(p) for p in paths if Path(p).is_file())
        if not matching:
            raise DataError(
                f"no file fits {pattern!r}; give a judge's file, or a pattern such as 'runs/*.txt'"
            )
        for path in matching:
            if people is not None and path.resolve() == people.resolve():
                continue
            other = found.setdefault(path.stem, path)
            if other.resolve() != path.resolve():
                raise DataError(
                    f"{str(other)!r} and {str(path)!r} would both be the judge {path.stem!r}; rename one"
                )
    return dict(sorted(found.items()))


class SystemRuns(NamedTuple):
    """What systems recommended, and what is odd about the files."""

    frame: pd.DataFrame
    """``system``, ``user_id``, ``item_id``, ``rank`` (from 1, without gaps), ``score``, ``file``, ``line``;
    by system and user in the order of the files, then by rank."""
    ties: pd.Series[int]
    """System → items that have the score of the one before them."""
    contradicting: pd.Series[int]
    """System → users whose list is in another order by the scores than by the ranks of the file."""
    masked: pd.Series[int]
    """System → items with the score −∞, which are left out: a recommender's padding, or items it excluded."""


def run_files(places: Iterable[str | os.PathLike[str]]) -> list[Path]:
    """Return files, and the files of folders but hidden ones, in order of their names within each."""
    found: list[Path] = []
    for place in map(Path, places):
        paths = sorted(p for p in place.iterdir() if p.is_file()) if place.is_dir() else [place]
        files = [p for p in paths if not p.name.startswith(".")]
        if not files:
            raise DataError(f"the folder {str(place)!r} holds no file; name the folder of the runs")
        found += files
    return list(dict.fromkeys(found))


def read_runs(
    files: Sequence[Path], columns: Mapping[str, str] | None = None
) -> tuple[SystemRuns | None, list[Problem]]:
    """Read runs; a system's list for a user is ordered by score, as trec_eval does it.

    Ties keep the order of the file where its lines are in the order of their scores, and are in the order of
    the ranks where they are not, or where a list has one score alone.
    """
    frames, problems = [], []
    for at, path in enumerate(files):
        if suffix_of(path) in _TABLES:
            frame, found = _run_table(path, columns or {})
        else:
            frame, found = read_fields(path, _RUN, "run file")
        problems += found or ([] if len(frame) else [Problem(path.name, None, None, "has no lines")])
        frames.append(frame.drop(columns="q0", errors="ignore").assign(file=at))
    rows = pd.concat(frames, ignore_index=True)
    if problems:
        return None, problems
    below = rows["score"].str.lower() == "-inf"
    masked, rows = rows.loc[below, "system"].value_counts(), rows[~below].reset_index(drop=True)
    names = [path.name for path in files]
    problems += _number(rows, names)
    if problems:
        return None, problems
    system, systems = pd.factorize(rows["system"])
    lists = system.astype(np.int64) * len(rows) + pd.factorize(rows["user_id"])[0]
    problems = [*_twice(rows, lists, names), *_of_two_files(rows, names)]
    runs = None if problems else _ordered(rows, lists, system, systems, names)._replace(masked=masked)
    return runs, problems


def _run_table(path: Path, columns: Mapping[str, str]) -> tuple[pd.DataFrame, list[Problem]]:
    """Return ``line``, ``user_id``, ``item_id``, ``rank``, ``score``, ``system``: all but the line as text.

    ``columns`` says which column has a field, if it has another name. Without a column of systems, the system
    has the name of the file; without ranks, a list has the order of the rows; without scores, that of ranks.

    Raises
    ------
    DataError
        If there is no such file, or users or items are in no column.
    """
    if not path.is_file():
        raise DataError(f"there is no run file {str(path)!r}")
    problems: list[Problem] = []
    if suffix_of(path) == ".npz":
        given = _of_arrays(path)
    else:
        table, problems = read_table(path)
        if table is None:
            return pd.DataFrame(), problems
        if _ITEMS in table.frame and "item_id" not in table.frame:
            table = flattened(table, [_ITEMS])
        frame = table.frame.assign(line=table.rows).rename(columns=lambda c: c.removeprefix(f"{_ITEMS}."))
        given = frame.rename(columns={c: f for f, c in columns.items() if c in frame})
    given = given.rename(columns={o: f for f, o in _OLD.items() if f not in given})
    wanted = [c for c in (*_OLD, *columns) if c not in (*KEYS, "label")]
    if lacking := [c for c in wanted if c not in given]:
        raise _without(columns.get(lacking[0], lacking[0]), path, given.columns.drop("line"), ".run")
    given = given[given["item_id"].notna()]  # an empty list of LensKit
    if "rank" not in given:
        lists = [c for c in ("system", "user_id") if c in given]
        given = given.assign(rank=given.groupby(lists, sort=False).cumcount() + 1)
    if "score" not in given:
        given = given.assign(score=-pd.to_numeric(given["rank"], errors="coerce"))
    if "system" not in given:
        given = given.assign(system=Path(path.name.removesuffix(".gz")).stem)
    texts = ["user_id", "item_id", "rank", "score", "system"]
    return given[["line", *texts]].astype(dict.fromkeys(texts, str)).reset_index(drop=True), problems


def _of_arrays(path: Path) -> pd.DataFrame:
    """Return a row for each item of the lists in a file of arrays, the first row with number 1."""
    wanted = "a run in .npz has user_id (users), item_id and, if known, score (users × k)"
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in ("user_id", "item_id", "score") if name in file}
    except (ValueError, OSError, zipfile.BadZipFile) as error:
        raise DataError(
            f"{path.name} cannot be read as arrays of numbers or text: {error}; {wanted}"
        ) from None
    users, items = arrays.get("user_id", np.empty(0)), arrays.get("item_id", np.empty(0))
    if users.ndim != 1 or items.ndim != 2 or len(users) != len(items):
        raise DataError(f"{path.name}: user_id has shape {users.shape}, item_id {items.shape}; {wanted}")
    if arrays.get("score", items).shape != items.shape:
        raise DataError(
            f"{path.name}: score has shape {arrays['score'].shape}, item_id {items.shape}; {wanted}"
        )
    columns = {"user_id": np.repeat(users, items.shape[1])}
    columns |= {name: arrays[name].ravel() for name in ("item_id", "score") if name in arrays}
    table = from_frame(pd.DataFrame(columns), path.name)
    return table.frame.assign(line=table.rows - 1)


def _number(rows: pd.DataFrame, names: Sequence[str]) -> list[Problem]:
    """Make numbers of ranks and scores, and return those that are none."""
    problems = []
    for column, wanted in _NUMBERS.items():
        try:
            numbers = pd.Series(pc.cast(pa.array(rows[column]), pa.float64()).to_numpy())
        except pa.ArrowInvalid:  # a word, or a way to write a number that Arrow does not know
            numbers = pd.to_numeric(rows[column], errors="coerce").astype(float)
        fits = np.isfinite(numbers) & ((column != "rank") | (numbers % 1 == 0))
        problems += [
            Problem(names[file], line, column, f"is {given!r}; it is {wanted}")
            for file, line, given in rows.loc[~fits, ["file", "line", column]].itertuples(index=False)
        ]
        rows[column] = numbers
    return problems


def _twice(rows: pd.DataFrame, lists: Ints, names: Sequence[str]) -> list[Problem]:
    problems = []
    for column, what in (("rank", "the rank {:.0f}"), ("item_id", "the item {!r}")):
        cells = pd.DataFrame({"list": lists, "value": pd.factorize(rows[column])[0]})
        again = rows.loc[cells.duplicated(), ["file", "line", column, "user_id"]]
        problems += [
            Problem(names[file], line, None, f"{what.format(value)} is twice in the list of user {user!r}")
            for file, line, value, user in again.itertuples(index=False)
        ]
    return problems


def _of_two_files(rows: pd.DataFrame, names: Sequence[str]) -> list[Problem]:
    pairs = rows[["system", "file", "line"]].drop_duplicates(["system", "file"])
    first = pairs.groupby("system")["file"].transform("first")
    return [
        Problem(names[file], line, None, f"the system {system!r} is in {names[other]} too; rename one")
        for system, file, line, other in pairs.assign(first=first)[first != pairs["file"]].itertuples(
            index=False
        )
    ]


def _ordered(
    rows: pd.DataFrame, lists: Ints, system: Ints, systems: pd.Index[str], names: Sequence[str]
) -> SystemRuns:
    ranks, scores, lines = (rows[name].to_numpy() for name in ("rank", "score", "line"))
    by_line = np.lexsort((lines, lists))
    same = _same(lists[by_line])
    steps = np.where(same, np.append(0.0, np.diff(scores[by_line])), 0.0)
    # Lines in the order of their scores say more of ties than ranks do; what is all one score says nothing.
    trusted = np.isin(lists, lists[by_line][steps < 0]) & ~np.isin(lists, lists[by_line][steps > 0])
    order = np.lexsort((np.where(trusted, lines, ranks), -scores, lists))
    frame = rows.loc[order, ["system", "user_id", "item_id", "score"]].reset_index(drop=True)
    same = _same(lists[order])
    starts = np.flatnonzero(~same)
    place = np.arange(len(frame)) - np.repeat(starts, np.diff(np.append(starts, len(frame)))) + 1
    frame.insert(3, "rank", place)
    frame["file"] = pd.Series(list(names)).take(rows["file"].to_numpy()[order]).to_numpy()
    frame["line"] = lines[order]
    tied = same & np.append(False, np.diff(scores[order]) == 0)
    by_rank = np.lexsort((ranks, -scores, lists))
    back = by_rank[_same(lists[by_rank]) & np.append(False, np.diff(ranks[by_rank]) < 0)]
    contradicting = back[np.unique(lists[back], return_index=True)[1]]
    counts = (_counted(systems, system[one]) for one in (order[tied], contradicting, order[:0]))
    return SystemRuns(frame, *counts)


def _same(lists: Ints) -> NDArray[np.bool_]:
    """Say of each row whether the one before it is of the same list."""
    return np.append(False, np.diff(lists) == 0)


def _counted(systems: pd.Index[str], codes: Ints) -> pd.Series[int]:
    counts = pd.Series(np.bincount(codes, minlength=len(systems)), index=systems)
    return counts[counts > 0].sort_values(ascending=False, kind="stable")
