"""How long the results of Jinja's filters and of methods will be."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from jinja2.runtime import LoopContext

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

NUMBER_BITS = 4096
_WIDEST = 1000  # blanks, digits or levels that a filter may be asked for
_WIDTH = re.compile(r"%(?:\([^)]*\))?[-#0 +]*(?P<width>\*|\d*)(?:\.(?P<digits>\*|\d*))?")

# fmt: off
_OF_TEXT = frozenset({
    "capitalize", "casefold", "count", "endswith", "find", "index", "isalnum", "isalpha", "isascii",
    "isdecimal", "isdigit", "islower", "isnumeric", "isspace", "istitle", "isupper", "join", "lower",
    "lstrip", "partition", "removeprefix", "removesuffix", "replace", "rfind", "rindex", "rpartition",
    "rsplit", "rstrip", "split", "splitlines", "startswith", "strip", "swapcase", "title", "upper",
})
# fmt: on
METHODS: Sequence[tuple[type, frozenset[str]]] = (
    (str, _OF_TEXT),
    (dict, frozenset({"get", "items", "keys", "values"})),
    (list, frozenset({"count", "index"})),
    (tuple, frozenset({"count", "index"})),
    (float, frozenset({"is_integer"})),
    (LoopContext, frozenset({"cycle", "changed"})),
)
"""Methods that a prompt may call, by the type of what they belong to."""


def formatted(pattern: str, values: object) -> int:
    """Return the greatest length of ``pattern % values``; raise `ValueError` for too wide a field."""
    widths = 0
    for found in _WIDTH.finditer(pattern):
        for digits in (found["width"], found["digits"]):
            if digits == "*" or len(digits or "") > 3:
                raise ValueError(f"the format {pattern[:40]!r} asks for too wide a field")
            widths += int(digits or 0)
    return len(pattern) + widths + pattern.count("%") * length(values)


def power_bits(base: object, exponent: object) -> int:
    """Return about how many bits ``base ** exponent`` has."""
    if isinstance(base, int) and isinstance(exponent, int):
        return base.bit_length() * abs(exponent)
    return 0


def length(value: object) -> int:
    """Return about how long a value is as text."""
    if isinstance(value, dict):
        return sum(length(k) + length(v) + 4 for k, v in value.items())
    if isinstance(value, list | tuple):
        return sum(length(v) + 2 for v in value)
    return len(value) if isinstance(value, str) else 20


def _few(number: object) -> int:
    """Return a number that a filter was given; raise `ValueError` for a large one."""
    if isinstance(number, int | float) and not abs(number) <= _WIDEST:
        raise ValueError(f"a filter can be given {_WIDEST:,} at most, not {number:.3g}")
    return int(number) if isinstance(number, int | float) else length(number)


def _padded(value: object, *given: object, **named: object) -> int:
    return length(value) + sum(map(_few, (*given, *named.values())))


def _wordwrap(
    s: object,
    width: object = 79,
    break_long_words: object = True,
    wrapstring: object = "\n",
    break_on_hyphens: object = True,
) -> int:
    return length(s) * (1 + length(wrapstring)) + _few(width)


def _replace(s: object, old: object, new: object, *_: object, **__: object) -> int:
    return length(s) + str(s).count(str(old)) * length(new)


def _sum(value: object, attribute: object = None, start: object = 0) -> int:
    if not isinstance(start, int | float):
        raise TypeError("a sum begins with a number")
    return length(value)


SIZES: Mapping[str, Callable[..., int]] = {
    "batch": _padded,
    "center": _padded,
    "format": lambda value, *given, **named: formatted(str(value), named or given),
    "indent": lambda s, width=4, *_, **__: length(s) + (str(s).count("\n") + 2) * _few(width),
    "join": lambda value, d="", *_, **__: length(value) + len(value) * length(d),
    "replace": _replace,
    "round": _padded,
    "slice": _padded,
    "sum": _sum,
    "wordwrap": _wordwrap,
}
"""Filters whose results can be far longer than their values."""

METHOD_SIZES: Mapping[str, Callable[..., int]] = {
    "join": lambda s, values: length(values) + len(values) * len(s),
    "replace": _replace,
}
"""Methods whose results can be."""
