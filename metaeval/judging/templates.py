"""How messages go to a model's server: as they are, or as one text in the markup of its family."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metaeval.base.errors import SpecError
from metaeval.llm.prompts.markup import MARKUPS, marked_up
from metaeval.llm.providers import provider_named

if TYPE_CHECKING:
    from collections.abc import Iterable

CHAT = "chat"
TEMPLATES: tuple[str, ...] = (CHAT, *MARKUPS)


def check_template(judge: str, model: str, template: str) -> None:
    """Raise `SpecError` unless the server of a model takes what a template makes."""
    provider, _, name = model.partition("/")
    if provider_named(provider).raw is (template != CHAT):
        return
    if template == CHAT:
        raise SpecError(
            f"{judge}: {provider!r} takes raw text; say in whose markup: template= one of "
            f"{', '.join(MARKUPS)}; or name a provider that takes messages"
        )
    raise SpecError(
        f"{judge}: template={template!r} is for raw text, and {provider!r} takes messages; leave template "
        f"out, or name a server of raw completions: 'completions/{name}'"
    )


def templated(messages: Iterable[tuple[str, str]], template: str) -> Iterable[tuple[str, str]]:
    """Return the messages as they are sent."""
    return messages if template == CHAT else marked_up(messages, template)


def stops_of(template: str) -> list[str] | None:
    """Return what ends a reply, to be said to the server; None if it knows by itself."""
    return None if template == CHAT else [MARKUPS[template].stop]
