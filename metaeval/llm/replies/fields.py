"""What a reply is asked for: a list of fields, each a number, a choice or a text."""

from __future__ import annotations

import dataclasses
import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from metaeval.base.records import Scale

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Given: TypeAlias = float | str
"""What a field is read as: a number, the value of a choice, or a text."""

REASON, EVIDENCE = "reason", "evidence"
"""What each of many rationales has."""
_MOST_POINTS = 100  # of a scale that a schema lists one by one


@dataclass(frozen=True, slots=True)
class Number:
    """A number on a scale.

    Parameters
    ----------
    name
        What the reply calls it.
    scale
        What it may be.
    aliases
        Other names under which a reply may give it, such as its name in another language.
    reason
        Whether a reply in JSON gives a reason before it, as in ``{"reason": "…", "score": 4}``.
    """

    name: str
    scale: Scale = dataclasses.field(hash=False)
    aliases: tuple[str, ...] = dataclasses.field(default=(), hash=False)
    reason: bool = False

    @property
    def numbers(self) -> Scale | None:
        """The scale on which a reply gives it."""
        return self.scale

    def given(self, number: float) -> Given:
        """Return the value that a number in a reply stands for."""
        return number

    @property
    def schema(self) -> dict[str, Any]:
        """JSON schema of the value."""
        value = _number_schema(self.scale)
        # Models write the keys in this order, so the reason comes first.
        return object_schema({"reason": {"type": "string"}, "score": value}) if self.reason else value


@dataclass(frozen=True, eq=False)
class Choice:
    """One of several values, such as which of two texts is better.

    Parameters
    ----------
    name, aliases
        As for `Number`.
    words
        Value → the words by which a reply may say it; the first is the one that is asked for. Case does not
        matter. Where every value has one word and these are consecutive integers, the reply is read as a
        number is, in all of its forms. Any other word stands alone or before a reason; words that name what
        is compared, such as ``A`` and ``B``, may also stand in a sentence that chooses one.
    """

    name: str
    words: Mapping[Given, Sequence[str]]
    aliases: tuple[str, ...] = ()

    @functools.cached_property
    def numbers(self) -> Scale | None:
        """The scale on which a reply gives it; None if it is given in words."""
        codes = self._codes
        if sorted(codes) != list(range(min(codes, default=0), max(codes, default=-1) + 1)) or not codes:
            return None
        return Scale(min(codes), max(codes))

    @functools.cached_property
    def _codes(self) -> dict[int, Given]:
        """Number → value; empty if a value has a word that is none, or several."""
        if not all(len(said) == 1 and said[0].isdecimal() for said in self.words.values()):
            return {}
        return {int(said[0]): value for value, said in self.words.items()}

    def given(self, number: float) -> Given:
        """Return the value that a number in a reply stands for."""
        return self._codes[int(number)]

    @property
    def schema(self) -> dict[str, Any]:
        """JSON schema of the value."""
        numbers = self.numbers
        if numbers is not None:
            return _number_schema(numbers)
        return {"type": "string", "enum": [said[0] for said in self.words.values()]}


@dataclass(frozen=True, slots=True)
class Text:
    """A free text.

    Parameters
    ----------
    name, aliases
        As for `Number`.
    evidence
        Tags of the parts of the prompt, each between ``<tag>`` and ``</tag>`` on lines of their own, in one
        of which it must stand word for word, as ``metaeval.llm.replies.evidence.plain`` compares. Empty: any
        text.
    required
        Whether a reply without it is of no use.
    binding
        Whether a reply without its evidence is of no use; if not, ``Parsed.invented`` names the field, and
        ``Parsed.unfound`` holds what was invented.
    many
        Whether it is a list of rationales, each with evidence of its own. In JSON each is an object with a
        ``reason`` and its ``evidence``, in text a line ``reason | evidence``. The value is the evidence
        alone, a line for each.
    """

    name: str
    evidence: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    required: bool = True
    binding: bool = True
    many: bool = False

    numbers: ClassVar[None] = None

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


def numbers(names: Sequence[str], scale: Scale, **more: Any) -> tuple[Number, ...]:  # noqa: ANN401 - as for `Number`
    """Return a `Number` of one scale for each name."""
    return tuple(Number(name, scale, **more) for name in names)


def json_schema(fields: Sequence[Field]) -> dict[str, Any]:
    """Return the JSON schema of a reply: all fields are required, no other is allowed.

    The points of a scale of integers are listed, which all providers with a schema understand; another scale
    has its two ends.
    """
    return object_schema({field.name: field.schema for field in fields})


def object_schema(properties: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON schema of an object with all of these properties and no other."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _number_schema(scale: Scale) -> dict[str, Any]:
    if scale.integer and scale.max - scale.min < _MOST_POINTS:
        low, high = int(-(-scale.min // 1)), int(scale.max // 1)
        return {"type": "integer", "enum": list(range(low, high + 1))}
    return {"type": "integer" if scale.integer else "number", "minimum": scale.min, "maximum": scale.max}
