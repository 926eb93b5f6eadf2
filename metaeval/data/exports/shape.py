"""What a file holds, and the shapes that its records must have to be read as an export.

A format declares which keys of an object must be there, and which hold objects or lists of objects; all else
may be anything. Null, and an empty cell of a table, is a key that is not there. The container is no part of a
shape: in a table, ``part.key`` is a key of the object ``part``, and a cell holds an object or a list as JSON,
as Python prints it, or as numpy does.
"""

from __future__ import annotations

import ast
import csv
import gzip
import json
import math
import re
import warnings
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, NotRequired, Required

from pydantic import BeforeValidator, ConfigDict, with_config
from typing_extensions import TypedDict

from metaeval.base.errors import DataError, MissingExtraError, Problem
from metaeval.data.tables.table import check_text, suffix_of

_LINES, _DELIMITERS = (".jsonl", ".ndjson"), {".csv": ",", ".tsv": "\t"}
_MANY = (".json", *_LINES, ".eval")
"""Files of which a folder may hold several that belong together."""
_CONFIG = ConfigDict(extra="allow", coerce_numbers_to_str=True)
_UNREAD = {"messages", "events", "store", "attachments"}
"""Large parts of a sample that are not needed."""
_PRINTED = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[^\s,\[\]{}'"]+""")
_ARRAY = re.compile(rf"\[\s*(?:{_PRINTED.pattern})(?:\s+(?:{_PRINTED.pattern}))+\s*\]")


def shape(*needed: str, **parts: Any) -> Any:  # noqa: ANN401 - types, for pydantic
    """Return the type of objects that have ``needed`` keys, each a text or a number.

    Each of ``parts`` has a type of its own, in brackets if it is a list; what is not there is empty.
    """
    types = {key: list[part[0]] if isinstance(part, list) else part for key, part in parts.items()}  # type: ignore[valid-type]
    keys = dict.fromkeys(needed, Required[str]) | {key: NotRequired[part] for key, part in types.items()}
    made = with_config(_CONFIG)(TypedDict("made", keys))  # type: ignore[operator]

    def clean(given: object) -> object:
        if not isinstance(given := opened(given), dict):
            return given
        there = {k: opened(v) if k in parts else v for k, v in given.items() if is_given(v)}
        for key in (k for k, part in parts.items() if k not in there and not isinstance(part, list)):
            there[key] = {k[len(key) + 1 :]: v for k, v in there.items() if k.startswith(f"{key}.")}
        return {k: [] for k, part in parts.items() if isinstance(part, list)} | there

    return Annotated[made, BeforeValidator(clean)]


def is_given(value: object) -> bool:
    """Say whether a value is there: null, an empty cell and NaN are not."""
    return value not in (None, "") and not (isinstance(value, float) and math.isnan(value))


def keys_of(record: Mapping[str, Any]) -> set[str]:
    """Return the keys of a record, with those whose parts are columns of a table: `a` of `a.b`."""
    return {*record, *(str(k).partition(".")[0] for k in record)}


def opened(cell: object) -> Any:  # noqa: ANN401 - whatever a cell holds
    """Return the object or list that a cell prints: as JSON, numpy or Python does; else the cell itself."""
    if isinstance(cell, str) and cell.strip()[:1] in {"{", "["}:
        for read in (json.loads, _array, _literal):
            try:
                found = read(cell.strip())
            except (ValueError, SyntaxError, RecursionError, MemoryError):
                continue
            return found
    return cell


def of_json(value: object) -> object:
    """Return what a text holds that a tool always writes as JSON, such as a text in quotes."""
    try:
        return json.loads(value) if isinstance(value, str) else value
    except (ValueError, RecursionError):
        return value


def _array(cell: str) -> list[Any]:
    """Read an array of one dimension as numpy prints it: without commas."""
    if not _ARRAY.fullmatch(cell):
        raise ValueError(cell)
    return [None if word == "nan" else _literal(word) for word in _PRINTED.findall(cell[1:-1])]


def _literal(text: str) -> Any:  # noqa: ANN401 - whatever it holds
    with warnings.catch_warnings(action="ignore"):
        found = ast.literal_eval(text)
    if isinstance(found, dict | list | str | int | float | None):
        return found
    raise ValueError(text)


def content_of(path: Path, most: int | None = None) -> list[Any]:
    """Return what a file holds: JSON, JSON lines, a log of inspect, or the rows of a table.

    At ``most`` so many rows of a table are read.
    A folder may hold a saved data set of one split, or several files of JSON or logs. Nothing is returned of
    another kind, or of what cannot be read: it may be a table.
    """
    try:
        return _folder(path, most) if path.is_dir() else _file(path, most) if path.is_file() else []
    except (OSError, ValueError, RecursionError, csv.Error):
        return []


def _file(path: Path, most: int | None) -> list[Any]:
    suffix = suffix_of(path)
    if suffix == ".eval":
        return [log_of(path)]
    if suffix == ".parquet":
        return _parquet(path, most)
    if suffix not in (*_MANY, *_DELIMITERS):
        return []
    content = path.read_bytes()
    text = (gzip.decompress(content) if path.suffix.lower() == ".gz" else content).decode("utf-8-sig")
    if suffix in _DELIMITERS:
        return _rows(text, _DELIMITERS[suffix], most)
    lines = text.splitlines() if suffix in _LINES else [text]
    found = [json.loads(line) for line in lines if line.strip()]
    check_text(found, text)
    return found


def log_of(path: Path) -> dict[str, Any]:
    """Return a log of inspect, read by inspect_ai; `DataError` is raised if the file is none.

    `MissingExtraError` is raised if the library is not installed.
    """
    try:
        from inspect_ai.log import read_eval_log
    except ImportError as error:
        raise MissingExtraError("reading a log of inspect", "inspect") from error
    if path.suffix.lower() not in {".eval", ".json"}:
        raise DataError(f"{path.name!r} is not a log of inspect; its suffix may be .eval or .json")
    try:
        found: dict[str, Any] = json.loads(read_eval_log(path, exclude_fields=_UNREAD).model_dump_json())
    except Exception as error:  # a damaged archive comes as errors of several libraries
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        message = f"cannot be read as a log of inspect: {reason}"
        raise DataError([Problem(path.name, None, None, message)]) from error
    return found


def _rows(text: str, delimiter: str, most: int | None) -> list[Any]:
    """Return the rows of a table; of columns of one name, the second is `NAME (2)`."""
    rows = csv.reader(text.splitlines(keepends=True), delimiter=delimiter)
    names: list[str] = []
    for name in next(rows, []):
        before = sum(re.sub(r" \(\d+\)$", "", n) == name for n in names) if name in names else 0
        names.append(f"{name} ({before + 1})" if before else name)
    return [{k: v for k, v in zip(names, row, strict=False) if k} for row in islice(rows, most) if row]


def _parquet(path: Path, most: int | None) -> list[Any]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(path)
        batches = file.iter_batches(most) if most else file.iter_batches()
        return [row for batch in islice(batches, 1 if most else None) for row in batch.to_pylist()]
    except (pa.ArrowException, OSError):
        return []


def _folder(path: Path, most: int | None) -> list[Any]:
    import pyarrow as pa

    if (path / "dataset_dict.json").is_file():
        splits = [p for p in path.iterdir() if (p / "state.json").is_file()]
        return _folder(splits[0], most) if len(splits) == 1 else []
    files = sorted(p for p in path.iterdir() if p.name[0] != ".")
    if (path / "state.json").is_file():
        parts = [pa.ipc.open_stream(p.read_bytes()).read_all() for p in files if p.suffix == ".arrow"]
        return [row for part in parts for row in part.slice(0, most).to_pylist()]
    if not all(p.is_file() and p.suffix.lower() in _MANY for p in files):
        return []
    return [found for p in files for found in content_of(p)]


def within(content: object, path: Sequence[str]) -> list[Any]:
    """Return what stands under a path of keys, in each element of lists on the way."""
    if isinstance(content, list):
        return [found for one in content for found in within(one, path)]
    if not path:
        return [content]
    inner = isinstance(content, Mapping) and path[0] in content
    return within(content[path[0]], path[1:]) if inner else []  # type: ignore[index]
