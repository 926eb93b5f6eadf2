"""The syntax of a prompt's body: Jinja, sandboxed, without anything that is not the same every time."""

from __future__ import annotations

import functools
import json
from typing import TYPE_CHECKING

from jinja2 import StrictUndefined, TemplateSyntaxError, UndefinedError, meta, nodes
from jinja2.exceptions import SecurityError
from jinja2.sandbox import ImmutableSandboxedEnvironment

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from jinja2 import Template


class LeftOut:
    """The value of an optional placeholder that was not given: false, empty, and an error if printed."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __bool__(self) -> bool:
        return False

    def __iter__(self) -> Iterator[object]:
        return iter(())

    def __str__(self) -> str:
        raise UndefinedError(
            f"{self.name!r} is optional and was left out; print it inside {{% if {self.name} %}}"
        )


def fenced(value: object, tag: str) -> str:
    """Return a text between ``<tag>`` and ``</tag>``, each on its own line.

    Where the text itself holds such a tag, a number is added to the name, so that no text can end its own
    fence and go on as instructions.
    """
    text, name, number = str(value), tag, 1
    while f"<{name}".casefold() in text.casefold() or f"</{name}".casefold() in text.casefold():
        number += 1
        name = f"{tag}-{number}"
    return f"<{name}>\n{text}\n</{name}>"


def variables(body: str) -> frozenset[str]:
    """Return the placeholders that a body uses, in all of its branches.

    Raises
    ------
    jinja2.TemplateSyntaxError
        With the line, if the body is not valid or asks for another file.
    """
    template(body)  # finds unknown filters and tests too, which parsing alone lets pass
    tree = _environment().parse(body)
    others = (nodes.Include, nodes.Import, nodes.FromImport, nodes.Extends)
    for node in tree.find_all(others):
        raise TemplateSyntaxError("a prompt is one file and cannot include or import another", node.lineno)
    return frozenset(meta.find_undeclared_variables(tree))


def fill(body: str, values: Mapping[str, object]) -> str:
    """Return the body with its placeholders filled; what a value holds is text and never read as a template.

    Raises
    ------
    ValueError
        In one sentence, if a part of a value is missing or the body does what a prompt may not.
    """
    try:
        return template(body).render(values).strip("\n")
    except (UndefinedError, SecurityError) as error:
        raise ValueError(str(error)) from error
    except (TypeError, ValueError, ArithmeticError, LookupError) as error:
        # An expression that does not fit its values, such as a text divided by a number.
        raise ValueError(f"an expression cannot be worked out: {error}") from error


@functools.lru_cache(maxsize=64)
def template(body: str) -> Template:
    """Return the compiled body; a run fills the same one many thousand times."""
    return _environment().from_string(body)


@functools.cache
def _environment() -> ImmutableSandboxedEnvironment:
    environment = ImmutableSandboxedEnvironment(
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,  # a prompt is plain text: `&amp;` is not what the reader saw
    )
    environment.globals.clear()  # `lipsum`, `cycler`, …: nothing that a prompt needs
    _remove(environment.filters, ("random", "safe", "xmlattr", "urlize", "pprint"))
    environment.filters["fenced"] = fenced
    environment.filters["tojson"] = functools.partial(json.dumps, ensure_ascii=False)
    return environment


def _remove(table: dict[str, object], names: Iterable[str]) -> None:
    for name in names:
        table.pop(name, None)
