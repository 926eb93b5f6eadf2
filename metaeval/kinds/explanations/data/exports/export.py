"""What a tool's export is read into, and the data set that is made of it."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from metaeval.base.counts import counted
from metaeval.base.errors import DataError, MissingExtraError
from metaeval.kinds.explanations.data.explanation_set import ExplanationSet
from metaeval.kinds.explanations.data.loading import from_frames
from metaeval.kinds.explanations.data.tables.proposal import scale_of

OWN = ("user_id", "item_id", "generator", "explanation", "item_title", "reference")
"""Fields of a record that mean what their name says."""
METADATA = "metadata"
"""Who gives numbers that stand among metadata: nobody, unless the user says that they are people's."""
_UUID = re.compile(r"[0-9a-f]{8}(-?[0-9a-f]{4}){3}-?[0-9a-f]{12}", re.IGNORECASE)
_SUFFIXES = (".json", ".jsonl", ".ndjson", ".csv")


@dataclass(frozen=True, slots=True)
class Mark:
    """What somebody said of one thing."""

    aspect: str
    value: object
    """A number, a truth value or a word; None for nothing."""
    who: str
    person: bool


@dataclass(frozen=True, slots=True)
class Judged:
    """A record with what was said of it."""

    id: str
    fields: Mapping[str, object]
    """Texts and metadata; those of `OWN` mean what their name says."""
    marks: Sequence[Mark] = ()
    text: str | None = None
    """The field that was judged, if the tool says so; else ``explanation``, or the longest."""


@dataclass(frozen=True, slots=True)
class Export:
    """A tool's export."""

    name: str
    about: str
    """How a user gets it."""
    fits: Callable[[Mapping[str, Any]], bool]
    """Whether a record is one of this tool's."""
    read: Callable[[Sequence[Mapping[str, Any]]], Iterable[Judged]]


def records_of(path: Path) -> list[dict[str, Any]]:
    """Return the records of a file: JSON, JSON lines, or a CSV table, whose JSON cells are opened.

    None are returned of a file of another kind, or that cannot be read: it may be a table.
    """
    if path.suffix.lower() == ".eval" and path.is_file():
        return [_log(path)]
    if path.suffix.lower() not in _SUFFIXES or not path.is_file():
        return []
    try:
        text = path.read_text(encoding="utf-8-sig")
        if path.suffix.lower() == ".csv":
            rows = csv.DictReader(text.splitlines(keepends=True))
            return [{k: opened(v) for k, v in row.items() if k} for row in rows]
        if path.suffix.lower() == ".json":
            found = json.loads(text)
        else:
            found = [json.loads(line) for line in text.splitlines() if line.strip()]
    except (ValueError, csv.Error):
        return []
    return [r for r in (found if isinstance(found, list) else [found]) if isinstance(r, dict)]


def _log(path: Path) -> dict[str, Any]:
    """Read a log of inspect, which only inspect_ai can."""
    try:
        from inspect_ai.log import read_eval_log
    except ImportError:
        raise MissingExtraError("reading a log of inspect", "inspect") from None
    found: dict[str, Any] = json.loads(read_eval_log(str(path)).model_dump_json())
    return found


def opened(cell: object) -> Any:  # noqa: ANN401 - whatever JSON holds
    """Return what JSON in a cell says; the cell itself, if it is no object or list."""
    if isinstance(cell, str) and cell.strip()[:1] in {"{", "["}:
        try:
            return json.loads(cell)
        except ValueError:
            return cell
    return cell


def flat(value: object, name: str = "") -> dict[str, object]:
    """Return the plain values within nested objects, by their paths; of a list of messages, the last one."""
    if isinstance(value, Mapping):
        parts = [flat(v, f"{name}.{k}" if name else str(k)) for k, v in value.items()]
        return {k: v for part in parts for k, v in part.items()}
    if isinstance(value, list):
        last = value[-1] if value else None
        return flat(last.get("content", last), name) if isinstance(last, Mapping) else flat(last, name)
    return {} if value is None else {name: value}


def own_fields(*places: object) -> dict[str, object]:
    """Return the fields of `OWN` that are in some metadata."""
    return {k: v for place in places if isinstance(place, Mapping) for k, v in place.items() if k in OWN}


def text_in(value: object) -> str:
    """Return the text in what a model was given or gave, which may be nested: the longest that it holds."""
    return max((str(v) for v in flat([opened(value)], "text").values()), key=len, default="")


@dataclass(slots=True)
class Made:
    """The data set made of an export, and what is to be said of it."""

    data: ExplanationSet
    notes: list[str] = field(default_factory=list)


def data_set(
    export: Export,
    records: Sequence[Mapping[str, Any]],
    name: str,
    people: Sequence[str] = (),
    generator: Callable[[], str] = lambda: "model",
) -> Made:
    """Make a data set of the records of an export.

    Parameters
    ----------
    people
        Names of aspects, feedback or sources that are people's, where the export does not say so.
    generator
        Says who wrote the texts, where no field does.

    Raises
    ------
    DataError
        If nobody rated anything, or there is no text.
    """
    judged = list(export.read(records))
    marks = [
        (unit, mark, mark.person or bool({mark.aspect, mark.who} & {*people}))
        for unit in judged
        for mark in unit.marks
        if mark.value not in (None, "") and (mark.who != METADATA or mark.aspect in people)
    ]
    if not any(person for *_, person in marks):
        known = sorted({mark.aspect for unit in judged for mark in unit.marks})
        raise DataError(
            f"the {export.name} export has no ratings of people ({', '.join(known) or 'no scores at all'}); "
            "say which are people's with --column 'NAME=rating'"
        )
    notes = [f"{export.name} export: {counted(len(judged), 'record')}."]
    units, text = _units(judged, generator)
    notes.append(f"The text that was judged is the field {text!r}.")
    if "user_id" not in units:
        notes.append("No users are named: units are resampled, and nothing is said within a user.")
    aspects = _numbered((mark for _, mark, person in marks if person), notes)
    if not aspects:
        raise DataError(
            f"all ratings of the {export.name} export are words; make them numbers, or compare labels by: "
            "metaeval calibrate"
        )
    keys = [c for c in ("user_id", "item_id", "generator") if c in units]
    key_of = dict(zip([unit.id for unit in judged], units[keys].to_dict("records"), strict=True))
    short = _short_names(mark.who for _, mark, person in marks if person)
    ratings, scores = [], []
    for unit, mark, person in marks:
        value = number_of(mark.value)
        if person and mark.aspect in aspects:
            ratings.append(
                key_of[unit.id] | {"rater": short[mark.who], "aspect": mark.aspect, "rating": value}
            )
        elif not person and value is not None:
            same = mark.aspect in aspects
            who = mark.who if same else mark.aspect
            scores.append(
                key_of[unit.id] | {"evaluator": who, "aspect": mark.aspect if same else "", "score": value}
            )
    frames = {k: pd.DataFrame(rows) for k, rows in (("ratings", ratings), ("scores", scores)) if rows}
    for kind, by in (("ratings", "rater"), ("scores", "evaluator")):
        if kind in frames:
            twice = frames[kind].duplicated([*keys, by, "aspect"], keep="last")
            if twice.any():
                notes.append(
                    f"{counted(int(twice.sum()), kind[:-1])} given again later: the last one counts."
                )
                frames[kind] = frames[kind][~twice]
    raters = frames["ratings"]["rater"].unique()
    notes.append(f"People: {', '.join(map(str, raters[:9]))}{', …' * (len(raters) > 9)}.")
    data = from_frames(
        units,
        frames["ratings"],
        scores=frames.get("scores"),
        aspects={name: {"statement": name, "scale": scale} for name, scale in aspects.items()},
        name=name,
        source=f"{export.name} export",
    )
    return Made(data, notes)


def _units(judged: Sequence[Judged], generator: Callable[[], str]) -> tuple[pd.DataFrame, str]:
    """Return a row per record, and the field that is the text."""
    rows: list[dict[str, str]] = []
    names: dict[str, int] = {}
    for unit in judged:
        fields = {k: str(v) for k, v in unit.fields.items() if v not in (None, "")}
        own = {k: v for k, v in fields.items() if k in OWN}
        told = unit.text if unit.fields.get(unit.text or "") is not None else "explanation"
        longest = max(fields.keys() - {*OWN[:3]}, key=lambda k: len(fields[k]), default="")
        name = told if unit.fields.get(told) is not None else longest  # it may be empty
        names[name] = names.get(name, 0) + 1
        rows.append({"item_id": unit.id, **own, "explanation": fields.get(name, "")})
    if not names or "" in names:
        raise DataError("a record of the export has no text")
    units = pd.DataFrame(rows)
    if units["item_id"].isna().any() or "generator" not in units:
        units["generator"] = units.get("generator", generator())
    if "user_id" in units and units["user_id"].isna().any():
        units = units.drop(columns="user_id")
    keys = [c for c in ("user_id", "item_id", "generator") if c in units]
    if units.duplicated(keys).any():  # several texts of one item by one system
        units["item_id"] = [unit.id for unit in judged]
    return units, max(names, key=lambda name: names[name])


def number_of(value: object) -> float | None:
    """Return a number, of truth values 0 or 1, and of texts that are numbers; None of a word."""
    if isinstance(value, bool | int | float):
        return float(value)
    try:
        return float(str(value).strip())
    except ValueError:
        return None


def _numbered(marks: Iterable[Mark], notes: list[str]) -> dict[str, dict[str, Any]]:
    """Return the scale of each aspect that people rated in numbers."""
    values: dict[str, list[object]] = {}
    for mark in marks:
        values.setdefault(mark.aspect, []).append(mark.value)
    found: dict[str, dict[str, Any]] = {}
    for aspect, given in values.items():
        numbers = [n for n in map(number_of, given) if n is not None]
        if len(numbers) < len(given):
            words = sorted({str(v) for v in given if number_of(v) is None})
            notes.append(f"{aspect!r} is left out: it is in words ({', '.join(words[:5])}).")
            continue
        low, high = (0.0, 1.0) if {*numbers} <= {0.0, 1.0} or max(numbers) <= 1 else scale_of(numbers)
        whole = all(n.is_integer() for n in numbers)
        found[aspect] = {"min": min(low, *numbers), "max": max(high, *numbers), "integer": whole}
        notes.append(f"{aspect!r}: {min(low, *numbers):g} to {max(high, *numbers):g}, by the values seen.")
    return found


def _short_names(names: Iterable[str]) -> dict[str, str]:
    """Return names of raters, where UUIDs get short ones, in the order in which they appear."""
    distinct = list(dict.fromkeys(names))
    long = [name for name in distinct if _UUID.fullmatch(name)]
    return {name: f"rater {long.index(name) + 1}" if name in long else name for name in distinct}


def marks_of(values: Mapping[str, object], who: str, *, person: bool) -> Iterator[Mark]:
    """Yield a mark for each value, by aspect."""
    for aspect, value in values.items():
        yield Mark(aspect, value, who, person)
