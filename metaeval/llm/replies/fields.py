"""What a reply is asked for: a list of fields, each a number, a choice or a text."""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from metaeval.llm.replies.names import THINGS, tidy

if TYPE_CHECKING:
    from metaeval.base.records import Scale

Given: TypeAlias = float | str  # a number, the value of a choice, or a text

REASON, EVIDENCE = "reason", "evidence"  # of each of many rationales
_SIDE = re.compile(rf"^(?:the )?{THINGS} #?")  # Assistant A, Summary #1
_AROUND = "\"'“”‘’「」()[]*_`. !。"


@dataclass(frozen=True, slots=True)
class Number:
    """A number on a scale."""

    name: str
    """What the reply calls it."""
    scale: Scale = dataclasses.field(hash=False)
    aliases: tuple[str, ...] = dataclasses.field(default=(), hash=False)
    """Other names under which a reply may give it, such as its name in another language."""
    reason: bool = False
    """Whether a reply in JSON gives a reason before it, as in ``{"reason": "…", "score": 4}``."""

    @property
    def schema(self) -> dict[str, Any]:
        """JSON schema of the value."""
        scale, kind = self.scale, "integer" if self.scale.integer else "number"
        value: dict[str, Any] = {"type": kind, "minimum": scale.min, "maximum": scale.max}
        if scale.integer and scale.max - scale.min < 100:  # a list is what all providers understand
            value = {"type": kind, "enum": list(range(-int(-scale.min // 1), int(scale.max // 1) + 1))}
        # Models write the keys in this order, so the reason comes first.
        return object_schema({"reason": {"type": "string"}, "score": value}) if self.reason else value


@dataclass(frozen=True, eq=False)
class Choice:
    """One of several values, such as which of two texts is better."""

    name: str
    words: Mapping[Given, Sequence[str]]
    """Value → the words by which a reply may say it; the first is the one that is asked for."""
    aliases: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if len(self._values) < sum(len({w.casefold() for w in said}) for said in self.words.values()):
            raise ValueError(f"{self.name!r} has one word for two values: {dict(self.words)}")

    @functools.cached_property
    def _values(self) -> dict[str, Given]:
        return {w.casefold().strip(_AROUND): value for value, said in self.words.items() for w in said}

    def chosen(self, value: object) -> Given | None:
        """Return the value that a value of JSON, or what a pattern matches, is or says; or None."""
        said = f"{value:g}" if isinstance(value, int | float) and not isinstance(value, bool) else str(value)
        own = value if isinstance(value, str | float | int) and value in self.words else None
        return own if (found := self.said(tidy(said))) is None else found

    def said(self, text: str, *, side: bool = True) -> Given | None:
        """Return the value whose word a tidy text is, with ``side`` also as ``Assistant A``; or None."""
        plain = text.casefold().strip(_AROUND)
        return self._values.get(plain, self._values.get(_SIDE.sub("", plain)) if side else None)

    def named_in(self, text: str) -> set[Given | None]:
        """Return the values whose words stand anywhere in a text."""
        return {
            value
            for value, said in self.words.items()
            for word in said
            if re.search(rf"(?<!\w)(?{'' if len(word) == 1 else 'i'}:{re.escape(word)})(?!\w)", text)
        }

    @property
    def schema(self) -> dict[str, Any]:
        """JSON schema of the value."""
        first = [said[0] for said in self.words.values()]
        if all(word.isdecimal() for word in first):
            return {"type": "integer", "enum": sorted(map(int, first))}
        return {"type": "string", "enum": first}


@dataclass(frozen=True, slots=True)
class Text:
    """A free text."""

    name: str
    evidence: tuple[str, ...] = ()
    """Tags of the parts of the prompt, each between ``<tag>`` and ``</tag>`` on lines of their own, in one of
    which it must stand word for word (``metaeval.judging.reading``). Empty: any text."""
    aliases: tuple[str, ...] = ()
    required: bool = True
    """Whether a reply without it is of no use."""
    binding: bool = True
    """Whether a reply without its evidence is of no use; if not, ``Parsed.invented`` names the field, and
    ``Parsed.unfound`` holds what was invented."""
    many: bool = False
    """Whether it is a list of rationales, each with its evidence: in JSON an object with ``reason`` and
    ``evidence``, in text a line ``reason | evidence``. The value is the evidence alone, a line for each."""

    @property
    def schema(self) -> dict[str, Any]:
        """JSON schema of the value."""
        text = {"type": "string"}
        return (
            {"type": "array", "items": object_schema({REASON: text, EVIDENCE: text})} if self.many else text
        )

    def texts(self, value: Given) -> list[str]:
        """Return the texts that a value holds."""
        return str(value).split("\n") if self.many else [str(value)]


Field: TypeAlias = Number | Choice | Text


def json_schema(fields: Sequence[Field]) -> dict[str, Any]:
    """Return the JSON schema of a reply: all fields are required, no other is allowed."""
    return object_schema({field.name: field.schema for field in fields})


def object_schema(values: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON schema of an object with all of these properties and no other."""
    return {"type": "object", "properties": values, "required": list(values), "additionalProperties": False}
