"""What a pairwise judge is told of two explanations of the same item for the same user."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metaeval.base.errors import PromptError
from metaeval.judging.prompts import check_file, filled
from metaeval.kinds.explanations.judge.prompt import entries_of, one_line, statement_of, title_of

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from metaeval.base.errors import Problem
    from metaeval.kinds.explanations.data.explanation_set import ExplanationSet
    from metaeval.llm.prompts.template import PromptTemplate

PLACEHOLDERS: tuple[str, ...] = (
    "aspects",
    "aspect",
    "reply_form",
    "first",
    "second",
    "item_title",
    "profile",
    "language",
)
"""Placeholders of a pairwise prompt. ``first`` and ``second`` are the texts; ``aspects`` is a list of
name and statement, ``aspect`` one of them (one call per aspect); ``profile`` is a list of name and value."""

NEEDED: tuple[str, ...] = ("first", "second")
"""Placeholders that it must use, beside ``aspects`` or ``aspect``."""


def is_pairwise(template: PromptTemplate) -> bool:
    """Say whether a prompt compares two texts."""
    return set(NEEDED) <= set(template.placeholders)


def pair_messages(
    template: PromptTemplate,
    data: ExplanationSet,
    texts: tuple[str, str],
    aspects: Sequence[str],
    *,
    item_title: str | None = None,
    profile: Mapping[str, str] | None = None,
    reply: str = "auto",
) -> list[tuple[str, str]]:
    """Fill a pairwise prompt; return role and text of each message.

    Parameters
    ----------
    template, data, aspects, profile, reply
        As for `metaeval.kinds.explanations.judge.prompt.messages`.
    texts
        The two explanations, in the order in which they are shown.
    item_title
        Title of their item.

    Raises
    ------
    PromptError
        If the prompt is not a pairwise one, or cannot show or ask for what is given.
    DataError
        If an aspect is unknown.
    """
    if not is_pairwise(template):
        raise PromptError(
            f"prompt {template.name!r} does not compare two texts: it must use 'first' and 'second'; "
            "take 'pairwise', or a file of your own that does"
        )
    return filled(
        template,
        [{"name": one_line(a), "statement": statement_of(data, a)} for a in aspects],
        {
            "first": texts[0],
            "second": texts[1],
            "item_title": title_of(item_title),
            "language": one_line(data.language) or None,
        },
        known=PLACEHOLDERS,
        shown={"profile": entries_of(profile)},
        reply=reply,
    )


def check_pairwise_prompt(path: str | os.PathLike[str]) -> list[Problem]:
    """Return everything that is wrong with a file as a pairwise prompt; an empty list if it can be used."""
    least: dict[str, object] = {"first": "A text.", "second": "Another."}
    most: dict[str, object] = {
        "item_title": "A title",
        "profile": [{"name": "age", "value": "30"}],
        "language": "en",
    }
    return check_file(path, needed=NEEDED, known=PLACEHOLDERS, samples=(least, least | most))
