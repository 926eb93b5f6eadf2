"""Reading replies whose fields are numbers on one scale, or one choice."""

from __future__ import annotations

from metaeval.base.records import Scale
from metaeval.llm.replies.fields import Choice, Given, Number
from metaeval.llm.replies.reader import Parsed, read_reply


def parse_reply(text, names, low, high, integer, *, aliases=None, **more) -> Parsed:
    """Read a number on one scale for each name."""
    scale = Scale(low, high, integer)
    fields = [Number(name, scale, tuple((aliases or {}).get(name, ()))) for name in names]
    return read_reply(text, fields, **more)


def read_choice(text: str, field: Choice) -> Given | None:
    """Read a choice."""
    values = read_reply(text, [field]).values
    return None if values is None else values[field.name]
