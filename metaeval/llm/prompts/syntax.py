"""The syntax of a prompt's body: Jinja, sandboxed, without anything random."""

from __future__ import annotations

import functools
import json
from typing import TYPE_CHECKING

from jinja2 import StrictUndefined, TemplateSyntaxError, UndefinedError, meta, nodes, pass_context
from jinja2.exceptions import SecurityError

from metaeval.llm.prompts.fences import fenced
from metaeval.llm.prompts.limits import LimitedContext, LimitedEnvironment, TooMuchError, left_out
from metaeval.llm.prompts.pieces import Pieces

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["fill", "left_out", "template", "variables"]

_DEEPEST = 8


def variables(body: str) -> frozenset[str]:
    """Return the placeholders of all branches of a body; raise `TemplateSyntaxError` if it is not valid."""
    try:
        template(body)  # finds unknown filters and tests too, which parsing alone lets pass
        tree = _environment().parse(body)
        found = frozenset(meta.find_undeclared_variables(tree))
    except TemplateSyntaxError:
        raise
    except (RecursionError, SyntaxError, ValueError, MemoryError) as error:
        # Python's own limits: expressions or blocks within one another, a number of thousands of digits.
        raise TemplateSyntaxError(f"it nests too deeply, or holds too long a number ({error})", 1) from error
    for node in tree.find_all((nodes.Include, nodes.Import, nodes.FromImport, nodes.Extends, nodes.Block)):
        raise TemplateSyntaxError("a prompt is one file and cannot include or import another", node.lineno)
    return found


def fill(body: str, values: Mapping[str, object]) -> str:
    """Return the body with its placeholders filled.

    Raises
    ------
    ValueError
        In one sentence, if a part of a value is missing, or the body does what a prompt may not
        (`metaeval.llm.prompts.limits`).
    """
    try:
        return template(body).fill(values).strip("\n")
    except (UndefinedError, SecurityError, TooMuchError) as error:
        raise ValueError(str(error)) from error
    except (RecursionError, MemoryError) as error:
        raise ValueError("filling it takes too much memory, or a macro calls itself for ever") from error
    except Exception as error:
        # An expression that does not fit its values, such as a text divided by a number.
        raise ValueError(f"an expression cannot be worked out: {error}") from error


@functools.lru_cache(maxsize=64)
def template(body: str) -> Pieces:
    """Return the compiled body."""
    return Pieces(_environment(), body)


@functools.cache
def _environment() -> LimitedEnvironment:
    environment = LimitedEnvironment(
        removed=("random", "safe", "xmlattr", "urlize", "pprint", "attr"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,  # a prompt is plain text: `&amp;` is not what the reader saw
    )
    environment.filters |= {"fenced": _fenced, "tojson": _to_json}
    return environment


@pass_context
def _fenced(context: LimitedContext, value: object, tag: str) -> str:
    text = fenced(value, tag)
    context.left -= len(text)
    return text


@pass_context
def _to_json(context: LimitedContext, value: object, indent: int | None = None) -> str:
    """Return a value as JSON; texts stay readable."""
    if indent is None:
        text = _encode(value)
    elif 0 <= indent <= _DEEPEST:
        text = json.dumps(value, ensure_ascii=False, indent=indent)
    else:
        raise ValueError(f"JSON can be indented by {_DEEPEST} blanks at most")
    context.left -= len(text)
    return text


_encode = json.JSONEncoder(ensure_ascii=False).encode
