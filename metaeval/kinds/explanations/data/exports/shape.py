"""What a file holds, and the shapes that its records must have to be read as an export.

A format declares which keys of an object must be there, and which hold objects or lists of objects; all else
may be anything. Null, and an empty cell of a table, is a key that is not there; JSON in a cell is opened.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, NotRequired, Required

from pydantic import BeforeValidator, ConfigDict, with_config
from typing_extensions import TypedDict

from metaeval.kinds.explanations.data.recorded.inspect_logs import log_of
from metaeval.sources.tables.table import check_text

_SUFFIXES = (".json", ".jsonl", ".ndjson", ".csv", ".eval")
_CONFIG = ConfigDict(extra="allow", coerce_numbers_to_str=True)


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
        there = {k: opened(v) if k in parts else v for k, v in given.items() if v not in (None, "")}
        return {k: [] if isinstance(part, list) else {} for k, part in parts.items()} | there

    return Annotated[made, BeforeValidator(clean)]


def opened(cell: object) -> Any:  # noqa: ANN401 - whatever JSON holds
    """Return what JSON in a cell says; the cell itself, if it is no object or list."""
    if isinstance(cell, str) and cell.strip()[:1] in {"{", "["}:
        try:
            return json.loads(cell)
        except (ValueError, RecursionError):
            return cell
    return cell


def content_of(path: Path) -> list[Any]:
    """Return what a file holds: JSON, JSON lines, a log of inspect, or a CSV table, one object a row.

    Nothing is returned of a file of another kind, or that cannot be read: it may be a table.
    """
    suffix = path.suffix.lower()
    if suffix not in _SUFFIXES or not path.is_file():
        return []
    if suffix == ".eval":
        return [json.loads(log_of(path, output=True).model_dump_json())]
    try:
        text = path.read_text(encoding="utf-8-sig")
        if suffix == ".csv":
            rows = csv.DictReader(text.splitlines(keepends=True))
            return [{k: v for k, v in row.items() if k} for row in rows]
        lines = [text] if suffix == ".json" else text.splitlines()
        found = [json.loads(line) for line in lines if line.strip()]
        check_text(found, text)
    except (OSError, ValueError, RecursionError, csv.Error):
        return []
    return found


def within(content: object, path: Sequence[str]) -> list[Any]:
    """Return what stands under a path of keys, in each element of lists on the way."""
    if isinstance(content, list):
        return [found for one in content for found in within(one, path)]
    if not path:
        return [content]
    inner = isinstance(content, Mapping) and path[0] in content
    return within(content[path[0]], path[1:]) if inner else []  # type: ignore[index]
