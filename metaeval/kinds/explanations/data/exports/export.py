"""What a tool's export is read into, and the data set that is made of it."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd
from pydantic import BaseModel, TypeAdapter, ValidationError

from metaeval.base.counts import counted
from metaeval.base.errors import DataError
from metaeval.base.records import Status
from metaeval.base.validation import sentences
from metaeval.kinds.explanations.data.explanation_set import ExplanationSet
from metaeval.kinds.explanations.data.exports.shape import opened, within
from metaeval.kinds.explanations.data.loading import from_frames
from metaeval.kinds.explanations.data.tables.proposal import scale_of, shortened

OWN = ("user_id", "item_id", "generator", "explanation", "item_title", "reference")
"""Fields of a record that mean what their name says."""
METADATA = "metadata"
"""Who gives numbers that stand among metadata: nobody, unless the user says that they are people's."""
_UUID = re.compile(r"[0-9a-f]{8}(-?[0-9a-f]{4}){3}-?[0-9a-f]{12}", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Mark:
    """What somebody said of one thing."""

    aspect: str
    value: object
    """A number, a truth value or a word; None for nothing."""
    who: str
    person: bool
    named: bool = True
    """Whether ``who`` is a name; else it is what those are who have none, and each mark is by another one."""
    failed: object = None
    """Why there is no score, whatever the value: a `Status`, or the tool's error, which is `transport`."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A record with what was said of it."""

    id: str
    fields: Mapping[str, object]
    """Texts and metadata; those of `OWN` mean what their name says."""
    marks: Sequence[Mark] = ()
    text: str | None = None
    """The field that was judged, if the tool says so; else ``explanation``, or the longest."""
    failed: object = None
    """Why none of its marks is a score, as of a mark; what people said of it stays."""


@dataclass(frozen=True, slots=True)
class Export:
    """A tool's export."""

    name: str
    about: str
    """How a user gets it."""
    fits: Callable[[Mapping[str, Any]], bool]
    """Whether an object is one of this tool's records, by its keys; the values may be anything."""
    shape: Any
    """What a record must have; a type, for pydantic."""
    read: Callable[[Sequence[Mapping[str, Any]]], Iterable[Judged]]
    within: tuple[str, ...] = ()
    """Where a file has the records, if not at its top: keys with dots."""
    first: Callable[[dict[str, Any]], object] = lambda record: record
    """Brings a record of another form of the file into the shape."""

    def records_in(self, content: Sequence[object]) -> list[Any]:
        """Return the records of a file; none if it is not one of this tool's."""
        places = (within(content, place.split(".") if place else []) for place in (*self.within, ""))
        own = (found for found in places if any(isinstance(r, dict) and self.fits(r) for r in found))
        return next(own, [])

    def shaped(self, records: Sequence[object], file: str) -> list[Any]:
        """Return records as they are declared; raise `DataError` with what is wrong first."""
        given = [self.first(record) if isinstance(record, dict) else record for record in records]
        named = {f"record {n}": record for n, record in enumerate(given, start=1)}
        try:
            return [*TypeAdapter(dict[str, self.shape]).validate_python(named).values()]  # type: ignore[name-defined]
        except ValidationError as error:
            wrong = sentences(error, named, BaseModel)[0][1]
            message = f"{file} looks like an export of {self.name}: {wrong}; known is: {self.about}"
            raise DataError(message) from error


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
        (at, mark, mark.person or bool({mark.aspect, mark.who} & {*people}))
        for at, unit in enumerate(judged)
        for mark in unit.marks
        if mark.who != METADATA or mark.aspect in people
    ]
    marks = [(at, m, person) for at, m, person in marks if _is_given(m.value) or (m.failed and not person)]
    if not any(person for *_, person in marks):
        known = sorted({mark.aspect for unit in judged for mark in unit.marks})
        raise DataError(
            f"the {export.name} export has no ratings of people ({', '.join(known) or 'no scores at all'}); "
            "say which are people's with --column 'NAME=rating'"
        )
    notes = [f"{export.name} export: {counted(len(judged), 'record')}."]
    units, text = _units(judged, {at for at, _, person in marks if person}, generator, notes)
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
    key_of = dict(zip(units.index, units[keys].to_dict("records"), strict=True))
    short = _short_names(mark.who for _, mark, person in marks if person)
    tools = Counter(aspect for aspect, _ in {(m.aspect, m.who) for _, m, person in marks if not person})
    nth: Counter[object] = Counter()
    ratings, scores = [], []
    for at, mark, person in marks:
        value, same, who = number_of(mark.value), mark.aspect in aspects, short.get(mark.who, mark.who)
        if at not in key_of or (person and not same):
            continue
        if not (same or person):
            who = mark.aspect if tools[mark.aspect] == 1 else f"{mark.aspect} ({who})"
        nth[at, who, mark.aspect] += not mark.named
        if (n := nth[at, who, mark.aspect]) > 1:
            who = f"{who} {n}"
        row = key_of[at] | {"aspect": mark.aspect if same else ""}
        if person:
            ratings.append(row | {"rater": who, "rating": value})
            continue
        failed = mark.failed or judged[at].failed
        word = Status.MISSING if value is None else Status.OK
        status = failed if isinstance(failed, Status) else Status.TRANSPORT if failed else word
        why = {"status": status, "why": status if failed else mark.value}
        scores.append(row | {"evaluator": who, "score": value if status == Status.OK else None} | why)
    if not ratings:
        raise DataError(
            f"no text of the {export.name} export has a rating: the records that have one have no text"
        )
    if max(nth.values(), default=0) > 1:
        notes.append("Raters without a name are others for each mark of a record, numbered from 2 on.")
    rated = _once(pd.DataFrame(ratings), notes)
    scored = _once(_scored(pd.DataFrame(scores), notes), notes) if scores else pd.DataFrame()
    raters = rated["rater"].unique()
    notes.append(f"People: {', '.join(map(str, raters[:9]))}{', …' * (len(raters) > 9)}.")
    data = from_frames(
        units,
        rated,
        scores=scored if len(scored) else None,
        aspects={name: {"statement": name, "scale": scale} for name, scale in aspects.items()},
        name=name,
        source=f"{export.name} export",
    )
    return Made(data, notes)


def _once(frame: pd.DataFrame, notes: list[str]) -> pd.DataFrame:
    """Return one row for each unit, rater or evaluator, and aspect: the last."""
    value = "rating" if "rating" in frame else "score"
    twice = frame.duplicated([c for c in frame if c not in (value, "status")], keep="last")
    if twice.any():
        notes.append(f"{counted(int(twice.sum()), value)} given again later: the last one counts.")
    return frame[~twice]


def _is_given(value: object) -> bool:
    return value not in (None, "") and not (isinstance(value, float) and math.isnan(value))


def _scored(scores: pd.DataFrame, notes: list[str]) -> pd.DataFrame:
    """Return the scores of evaluators that gave any; say how many have none, and why."""
    for (who, aspect), own in scores[scores["score"].isna()].groupby(["evaluator", "aspect"], sort=False):
        of = f" for {aspect!r}" if aspect else ""
        notes.append(f"Scores of {who!r}{of} that are missing: {_counts(own['why'])}.")
    some = scores["score"].notna().groupby([scores["evaluator"], scores["aspect"]]).transform("any")
    plain = scores["status"].isin([Status.OK, Status.MISSING]).all()
    return scores[some].drop(columns=["why", "status"] if plain else ["why"])


def _counts(values: Iterable[object]) -> str:
    """Return values with how often each is there."""
    counts = Counter(shortened(str(value)) for value in values).most_common()
    return ", ".join(f"{value} {n:,}" for value, n in counts[:5]) + ", …" * (len(counts) > 5)


def _units(
    judged: Sequence[Judged], rated: Collection[int], generator: Callable[[], str], notes: list[str]
) -> tuple[pd.DataFrame, str]:
    """Return a row per record that has a text, and the field that is the text."""
    rows: dict[int, dict[str, str]] = {}
    every = [{k: str(v) for k, v in unit.fields.items() if v not in (None, "")} for unit in judged]
    named = [_text_field(unit, fields) for unit, fields in zip(judged, every, strict=True)]
    names = Counter(named)
    usual = names.most_common(1)[0][0]
    for at, (unit, fields) in enumerate(zip(judged, every, strict=True)):
        name = named[at] if named[at] in {unit.text, "explanation"} else usual  # which may be empty
        own = {k: v for k, v in fields.items() if k in OWN}
        text = fields.get(name, "")
        if text.strip() or (at in rated and fields and not unit.failed):
            rows[at] = {"item_id": unit.id, **own, "explanation": text}
    if not any(row["explanation"] for row in rows.values()):
        raise DataError("no record of the export has a text")
    if none := len(judged) - len(rows):
        notes.append(
            f"{counted(none, 'record')} without a text left out: failed, not in the file, or rated by nobody."
        )
    units = pd.DataFrame.from_dict(rows, orient="index")
    if "generator" not in units:
        units["generator"] = generator()
    if "user_id" in units and units["user_id"].isna().any():
        units = units.drop(columns="user_id")
    keys = [c for c in ("user_id", "item_id", "generator") if c in units]
    if units.duplicated(keys).any():  # several texts of one item by one system
        units["item_id"] = [judged[at].id for at in units.index]
    return units, usual


def _text_field(unit: Judged, fields: Mapping[str, str]) -> str:
    """Return the field that is the text: the one that is named, else the longest."""
    told = [name for name in (unit.text, "explanation") if name in fields]
    longest = max((k for k in fields if k not in OWN[:3]), key=lambda k: len(fields[k]), default="")
    return str(told[0]) if told else unit.text or longest


def number_of(value: object) -> float | None:
    """Return a number, of truth values 0 or 1, and of texts that are numbers; None of a word."""
    try:
        number = float(value if isinstance(value, bool | int | float) else str(value).strip())
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _numbered(marks: Iterable[Mark], notes: list[str]) -> dict[str, dict[str, Any]]:
    """Return the scale of each aspect that people rated in numbers; words among these are missing ratings."""
    values: dict[str, list[object]] = {}
    for mark in marks:
        values.setdefault(mark.aspect, []).append(mark.value)
    found: dict[str, dict[str, Any]] = {}
    for aspect, given in values.items():
        numbers = [n for n in map(number_of, given) if n is not None]
        words = _counts(v for v in given if number_of(v) is None)
        if not numbers:
            notes.append(f"{aspect!r} is left out: it is in words ({words}).")
            continue
        if words:
            notes.append(f"Ratings of {aspect!r} that are words without a number are missing: {words}.")
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
