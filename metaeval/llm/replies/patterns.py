"""Replies by a pattern that the user states: what it matches is the answer, and nothing else is looked at.

Patterns are those of RE2, whose time is linear in the text, whatever the pattern.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from typing import Any, Literal

from pydantic import Field as Described
from pydantic import field_validator, model_validator

from metaeval.base.plugins import Registry
from metaeval.base.records import FIRST, SECOND, TIE, Status
from metaeval.base.validation import Strict


class UnreadError(Exception):
    """Why a reply has no values."""

    def __init__(self, reason: str, status: Status = Status.UNPARSED) -> None:
        super().__init__(reason)
        self.status = status


class ReplyPattern(Strict):
    """How replies are read, such as ``{pattern: 'Rating: (?P<value>[1-5])', take: last}``.

    A text in its place is the pattern, or the name of a known one.
    """

    pattern: str
    """Its group ``value``, or its only one, is the answer; of several fields each has a group of its name."""
    take: Literal["only", "first", "last"] = "only"
    """``only``: all matches must be equal; ``first``, ``last``: that one counts."""
    values: dict[str, str | float] = Described(default_factory=dict)
    """What a match means, such as ``{A: 5, B: 4}``, whatever its case; any other match means itself."""
    about: str = ""

    @model_validator(mode="before")
    @classmethod
    def _named(cls, given: Any) -> Any:  # noqa: ANN401 - as YAML gives it
        given = {"pattern": given} if isinstance(given, str) else given
        name = given.get("pattern") if isinstance(given, dict) else None
        if isinstance(name, str) and _NAME.fullmatch(name) and name in PATTERNS.names:
            known = PATTERNS.named(name)
            return {**known.model_dump(), **given, "pattern": known.pattern}
        return given

    @field_validator("pattern")
    @classmethod
    def _compiles(cls, pattern: str) -> str:
        _compiled(pattern)
        return pattern

    @field_validator("values")
    @classmethod
    def _without_case(cls, values: dict[str, str | float]) -> dict[str, str | float]:
        return {word.casefold(): value for word, value in values.items()}

    @property
    def facts(self) -> dict[str, Any]:
        """What a number that it read depends on, as plain JSON values."""
        return self.model_dump(exclude={"about"}, exclude_defaults=True)

    @property
    def named(self) -> list[str]:
        """The names of its groups."""
        return [*_compiled(self.pattern).groupindex]

    def groups(self, names: Sequence[str]) -> list[str | int]:
        """Return the group of each name; raise `UnreadError` if one of several has none."""
        known = _compiled(self.pattern).groupindex
        if len(names) > 1 and (lacks := [name for name in names if name not in known]):
            raise UnreadError(f"the pattern has no group {lacks[0]!r}")
        return [name if name in known else "value" if "value" in known else 1 for name in names]

    def read(self, text: str, names: Sequence[str]) -> dict[str, str | float]:
        """Return what a text says of each name; raise `UnreadError` if it says nothing clear."""
        groups, matches = self.groups(names), _compiled(self.pattern).finditer(text)
        found = [tuple((m.group(g) or "").strip() for g in groups) for m in matches]
        if not found:
            raise UnreadError("the pattern matches nothing")
        different = sorted(map(" ".join, set(found)))
        if self.take == "only" and len(different) > 1:
            raise UnreadError(f"the pattern matches different texts: {' and '.join(different[:2])}")
        taken = found[0 if self.take == "first" else -1]
        return dict(zip(names, (self.values.get(said.casefold(), said) for said in taken), strict=True))


_NAME = re.compile(r"[\w-]+")
PATTERNS = Registry("metaeval.patterns", ReplyPattern, "a ReplyPattern", "pattern")
"""The patterns that have names."""


@functools.lru_cache(64)
def _compiled(pattern: str) -> Any:  # noqa: ANN401 - RE2 has no types
    import re2

    options = re2.Options()
    options.log_errors = False
    try:
        found = re2.compile(pattern, options)
    except re2.error as error:
        why = error.args[0].decode(errors="replace")
        raise ValueError(f"the pattern {pattern!r} cannot be used: {why}") from None
    if not found.groupindex and found.groups != 1:
        raise ValueError(
            f"{pattern!r} is neither a known pattern ({', '.join(PATTERNS.names)}) nor one with a group "
            f"'value', such as 'Rating: (?P<value>[1-5])'"
        )
    return found


_AB = {"A": FIRST, "B": SECOND}
_GRADES = {"A>>B": FIRST, "A>B": FIRST, "A=B": TIE, "B>A": SECOND, "B>>A": SECOND}
_FIVE = {"A": 5.0, "B": 4.0, "C": 3.0, "D": 2.0, "E": 1.0}
_NUMBER = r"([0-9]+(?:\.[0-9]+)?)"
for _name, _pattern, _take, _values, _about in (
    ("mt-bench", r"\[\[([ABC])\]\]", "only", _AB | {"C": TIE}, "[[A]], [[B]] or [[C]], a tie"),
    ("mt-bench-rating", rf"\[\[{_NUMBER}\]\]", "only", {}, "a rating such as [[7]]"),
    ("arena-hard", r"\[\[(A>>B|A>B|A=B|B>A|B>>A)\]\]", "only", _GRADES, "[[A>>B]] to [[B>>A]]"),
    ("g-eval", rf"^\W*(?:[\w ]+:\s*)?{_NUMBER}\b", "only", {}, "a number first, or after its name"),
    ("prometheus", r"\[RESULT\]\W*([0-9]+)\b", "last", {}, "[RESULT] 4"),
    ("prometheus-pairs", r"\[RESULT\]\W*([AB])\b", "last", _AB, "[RESULT] A"),
    ("inspect", r"(?i)GRADE\s*:\s*([CPI])\b", "last", {"C": 1.0, "P": 0.5, "I": 0.0}, "GRADE: C, P or I"),
    ("letters", r"^\W*(?:[\w ]+:\W*)?([A-E])\b", "only", _FIVE, "A (5) to E (1) first, or after its name"),
):
    PATTERNS[_name] = ReplyPattern.model_validate(
        {"pattern": _pattern, "take": _take, "values": _values, "about": _about}
    )
