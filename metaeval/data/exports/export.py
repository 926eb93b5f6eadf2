"""What a tool's export is read into."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self, TypeAlias

from pydantic import BaseModel, TypeAdapter, ValidationError

from metaeval.base.errors import DataError
from metaeval.base.validation import sentences
from metaeval.data.exports.shape import keys_of, opened, within

OWN = ("user_id", "item_id", "generator", "explanation", "item_title", "reference")
"""Fields of a record that mean what their name says."""
Record: TypeAlias = Mapping[str, Any]
METADATA = "metadata"
"""Who gives numbers that stand among metadata: nobody, unless their name or the user says more."""


@dataclass(frozen=True, slots=True)
class Mark:
    """What somebody said of one thing."""

    aspect: str
    value: object
    """A number, a truth value or a word; None for nothing."""
    who: str
    person: bool = False
    named: bool = True
    """Whether ``who`` is a name; else it is what those are who have none, and each mark is by another one."""
    failed: object = None
    """Why there is no score, whatever the value: a `Status`, or the tool's error, which is `transport`."""
    word: object = None
    """The word that the tool has for a value that is a number."""
    scale: tuple[float, float] | None = None
    """The ends of the scale, of whole numbers, if the file states it."""
    beside: Mapping[str, str] = field(default_factory=dict)
    """Further columns of a person's rating: what was written, or is known of the person."""

    @classmethod
    def by(
        cls,
        who: object,
        unnamed: str,
        aspect: str,
        value: object,
        word: object = None,
        *,
        person: bool = False,
        failed: object = None,
    ) -> Self:
        """Return what ``who`` said, or, without a name, somebody who is ``unnamed``."""
        return cls(aspect, value, str(who or unnamed), person, bool(who), failed, word)


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
    given: object = None
    """What the text answers: the item, where no field says so and several records have the same."""
    unread: Sequence[str] = ()
    """What is said of it that is nobody's score, and why."""
    truth: str = ""
    """The truth of a study of it, if that is stated."""


@dataclass(frozen=True, slots=True)
class Export:
    """A tool's export."""

    name: str
    about: str
    """How a user gets it."""
    fits: Callable[[Record], bool]
    """Whether an object is one of this tool's records, by its keys; the values may be anything."""
    shape: Any
    """What a record must have; a type, for pydantic."""
    read: Callable[[Sequence[Record]], Iterable[Judged]]
    within: tuple[str, ...]
    """Where a file has the records, if not at its top: keys with dots."""
    first: Callable[[dict[str, Any]], object]
    """Brings a record of another form of the file into the shape, or into several that have it."""

    def records_in(self, content: Sequence[object]) -> list[Any]:
        """Return the records of a file; none if it is not one of this tool's."""
        found = []
        for place in self.within:
            inner = within(content, place.split("."))
            if any(isinstance(r, dict) and self.fits(r) for r in inner):
                found += inner
                content = [one for one in content if not within(one, place.split("."))]
        outer = within(content, [])
        return found + outer * any(isinstance(r, dict) and self.fits(r) for r in outer)

    def shaped(self, records: Sequence[object], file: str) -> list[Any]:
        """Return records as they are declared; raise `DataError` with what is wrong first."""
        made = [self.first(record) if isinstance(record, dict) else record for record in records]
        given = [one for many in made for one in (many if isinstance(many, list) else [many])]
        named = {f"record {n}": record for n, record in enumerate(given, start=1)}
        try:
            return [*TypeAdapter(dict[str, self.shape]).validate_python(named).values()]  # type: ignore[name-defined]
        except ValidationError as error:
            wrong = sentences(error, named, BaseModel)[0][1]
            message = f"{file} looks like an export of {self.name}: {wrong}; known is: {self.about}"
            raise DataError(message) from error


def tool(  # noqa: PLR0917 - the fields of `Export`, in order
    name: str,
    about: str,
    fits: Callable[[Record], bool],
    shape: object,
    within: tuple[str, ...] = (),
    first: Callable[[dict[str, Any]], object] = lambda record: record,
) -> Callable[[Callable[[Sequence[Record]], Iterable[Judged]]], Export]:
    """Make of a function, which reads the records, the export of a tool; see `Export`."""
    return lambda read: Export(name, about, fits, shape, read, within, first)


def has(*forms: str, nested: bool = False) -> Callable[[Record], bool]:
    """Say of objects whether they have all keys of one of ``forms``, in each of which blanks part the keys.

    ``nested`` says that a key may also be the beginning of the columns of a table: ``part`` of ``part.key``.
    """
    keys = [{*form.split()} for form in forms]
    return lambda record: any(k <= (keys_of(record) if nested else record.keys()) for k in keys)


def judged(
    name: object,
    given: object,
    made: object,
    marks: Iterable[Mark],
    *metadata: object,
    **more: Any,  # noqa: ANN401 - fields, and attributes
) -> Judged:
    """Return a record of what a tool was ``given`` and ``made`` of it.

    ``more`` are attributes of `Judged`, as `unread`, and further fields; ``metadata`` may have more of these.
    """
    own = {key: more.pop(key) for key in ("failed", "unread") if key in more}
    text = more.pop("text", "output")
    fields = {"item_title": text_in(given), text: text_in(made), **more, **own_fields(*metadata)}
    return Judged(str(name), fields, [*marks], text, given=given, **own)


def flat(value: object, name: str = "") -> dict[str, object]:
    """Return the plain values within nested objects, by their paths; of a list of messages, the last one."""
    if isinstance(value, Mapping):
        parts = [flat(v, f"{name}.{k}" if name else str(k)) for k, v in value.items()]
        return {k: v for part in parts for k, v in part.items()}
    if isinstance(value, list):
        last = value[-1] if value else None
        return flat(last.get("content", last), name) if isinstance(last, Mapping) else flat(last, name)
    return {} if value is None else {name: value}


def named_numbers(metadata: Record) -> list[Mark]:
    """Return the numbers among metadata, which are nobody's."""
    return [
        Mark(name, value, METADATA)
        for name, value in metadata.items()
        if name not in OWN and number_of(value) is not None
    ]


def own_fields(*places: object) -> dict[str, object]:
    """Return the fields of `OWN` that are in some metadata."""
    return {k: v for place in places if isinstance(place, Mapping) for k, v in place.items() if k in OWN}


def text_in(value: object) -> str:
    """Return the text in what a model was given or gave, which may be nested: the longest that it holds."""
    return max((str(v) for v in flat([opened(value)], "text").values()), key=len, default="")


def number_of(value: object) -> float | None:
    """Return a number, of truth values 0 or 1, and of texts that are numbers; None of a word."""
    try:
        number = float(value if isinstance(value, bool | int | float) else str(value).strip())
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None
