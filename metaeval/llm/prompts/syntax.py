"""The syntax of a prompt's body: a part of Jinja's.

A prompt may be somebody else's file. So it holds values, ``if``, ``for``, ``set`` and some filters, nothing
that calls code; and its output is limited.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from jinja2 import StrictUndefined, Template, TemplateSyntaxError, Undefined, UndefinedError, meta, nodes
from jinja2.runtime import LoopContext
from jinja2.sandbox import ImmutableSandboxedEnvironment

from metaeval.base.errors import unknown

__all__ = ["fill", "left_out", "variables"]

MOST = 10_000_000
"""Characters of a filled prompt, or of what a filter makes; the longest prompts have a tenth of that."""
_A_PIECE = 10  # characters that a piece of the filled text counts beside its own: a loop's pass is one
_NODES = (
    *(nodes.Template, nodes.Output, nodes.TemplateData, nodes.If, nodes.For, nodes.Assign, nodes.Name),
    *(nodes.Const, nodes.Getattr, nodes.Getitem, nodes.Slice, nodes.Filter, nodes.Test, nodes.Keyword),
    *(nodes.Compare, nodes.Operand, nodes.And, nodes.Or, nodes.Not, nodes.CondExpr, nodes.Neg),
    *(nodes.List, nodes.Tuple),
)
_OF_LOOP = ("first", "index", "index0", "last", "length", "revindex", "revindex0")
_OF_JINJA = (
    *("capitalize", "count", "default", "first", "last", "length", "list", "lower", "map", "reject"),
    *("rejectattr", "reverse", "select", "selectattr", "sort", "title", "trim", "truncate", "unique"),
    "upper",
)
"""Filters of Jinja's whose results are hardly longer than what they are given."""


class _TooMuchError(ValueError):
    def __init__(self) -> None:
        super().__init__(f"filling it handles more than {MOST:,} characters; loop over less")


class _LeftOut(Undefined):
    """The value of an optional placeholder that was not given: false, empty, and an error if printed."""

    __slots__ = ()
    __str__ = Undefined._fail_with_undefined_error


class _Environment(ImmutableSandboxedEnvironment):
    """Jinja without calls, macros, blocks, arithmetic and attributes of Python's."""

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        tree = super()._parse(source, name, filename)
        for node in tree.find_all(nodes.Node):
            if wrong := self._wrong(node):
                raise TemplateSyntaxError(wrong, node.lineno)
        empty = nodes.Output([nodes.TemplateData("")])
        for loop in tree.find_all(nodes.For):
            loop.body.insert(0, empty)  # so that `fill` counts each pass
        return tree

    def _wrong(self, node: nodes.Node) -> str | None:
        """Say what is wrong with a node of the syntax tree; None if nothing is."""
        match node:
            case nodes.Filter() if node.name not in self.filters:
                return unknown("there is no filter", node.name, sorted(self.filters), "allowed")
            case nodes.Test() if node.name not in self.tests:
                return unknown("there is no test", node.name, sorted(self.tests), "allowed")
            case nodes.For(recursive=True):
                return "a loop cannot be recursive"
            case nodes.List() | nodes.Tuple(ctx="load") if {*map(type, node.items)} - {nodes.Const}:
                return "a list in a prompt can hold texts and numbers only"
            case _ if not isinstance(node, _NODES):
                kind = type(node).__name__
                return f"a prompt can hold values, if, for, set and filters; Jinja's {kind!r} is not allowed"
        return None

    def getitem(self, obj: Any, argument: Any) -> Any:  # noqa: ANN401 - any value of a template
        """Return a part of a value that the prompt was given, or what a loop knows; no other attribute."""
        if type(obj) is LoopContext and argument in _OF_LOOP:
            return getattr(obj, argument)
        try:
            return obj[argument]
        except (LookupError, TypeError):
            return self.undefined(obj=obj, name=argument)

    getattr = getitem  # type: ignore[assignment]  # the same, of a wider argument


def variables(body: str) -> frozenset[str]:
    """Return the placeholders of all branches of a body; raise `TemplateSyntaxError` if it is not valid."""
    try:
        _template(body)
        return frozenset(meta.find_undeclared_variables(_environment().parse(body)))
    except TemplateSyntaxError:
        raise
    except (RecursionError, SyntaxError, ValueError, MemoryError) as error:
        # Python's own limits: expressions or blocks within one another, a number of thousands of digits.
        raise TemplateSyntaxError(f"it nests too deeply, or holds too long a number ({error})", 1) from error


@functools.lru_cache(64)
def left_out(name: str) -> Undefined:
    """Return the value of an optional placeholder that was not given."""
    return _LeftOut(f"{name!r} is optional and was left out; print it inside {{% if {name} %}}")


def fill(body: str, values: Mapping[str, object]) -> str:
    """Return the body with its placeholders filled.

    Raises
    ------
    ValueError
        In one sentence, if a part of a value is missing, or the body handles too much.
    """
    template, left = _template(body), MOST
    filled: list[str] = []
    try:
        for piece in template.root_render_func(template.new_context(dict(values), shared=True)):
            filled.append(piece)
            left -= len(piece) + _A_PIECE
            if left < 0:
                raise _TooMuchError  # noqa: TRY301
    except (UndefinedError, _TooMuchError) as error:
        raise ValueError(str(error)) from error
    except Exception as error:
        # An expression that does not fit its values, such as a loop over a number.
        raise ValueError(f"an expression cannot be worked out: {error}") from error
    return "".join(filled).strip("\n")


@functools.lru_cache(maxsize=64)
def _template(body: str) -> Template:
    return _environment().from_string(body)


@functools.cache
def _environment() -> _Environment:
    environment = _Environment(
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,  # a prompt is plain text: `&amp;` is not what the reader saw
    )
    own: dict[str, Callable[..., str]] = {
        "fenced": fenced,
        "join": _join,
        "tojson": json.JSONEncoder(ensure_ascii=False).encode,
    }
    kept = {name: environment.filters[name] for name in _OF_JINJA}
    environment.filters = kept | {name: _limited(function) for name, function in own.items()}
    environment.globals = {}  # `range`, `lipsum`, …
    return environment


def _limited(function: Callable[..., str]) -> Callable[..., str]:
    """Return a filter whose results cannot grow when it is applied to them again and again."""

    def limited(*args: object, **kwargs: object) -> str:
        made = function(*args, **kwargs)
        if len(made) > MOST:
            raise _TooMuchError
        return made

    return limited


def _join(values: Iterable[object], d: str = "") -> str:
    return d.join(map(str, values))


_FENCED = re.compile(r"^<(?P<tag>[\w-]+)>\n(?P<text>.*?)\n</(?P=tag)>$", re.DOTALL | re.MULTILINE)


def fenced(value: object, tag: str) -> str:
    """Return a text between ``<tag>`` and ``</tag>``, each on its own line.

    Where the text itself holds such a tag, a number is added to the name, so that no text can end its own
    fence.
    """
    text, name, number = str(value), tag, 1
    while f"<{name}".casefold() in text.casefold() or f"</{name}".casefold() in text.casefold():
        number += 1
        name = f"{tag}-{number}"
    return f"<{name}>\n{text}\n</{name}>"


def fenced_parts(prompt: str) -> list[tuple[str, str]]:
    """Return tag and text of each fence of a prompt, in order; a fence within another is part of its text."""
    return [(part["tag"], part["text"]) for part in _FENCED.finditer(prompt)]
