"""What a pairwise judge is told of two explanations of the same item for the same user."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from metaeval.base.errors import DataError, Problem, PromptError, one_of
from metaeval.kinds.explanations.judge.prompt import entries_of, is_single, one_line, title_of
from metaeval.llm.prompts.template import bundled_prompts, check_prompt, load_prompt

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from metaeval.base.records import ExplanationSet
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
"""What a pairwise prompt may use. ``first`` and ``second`` are the texts in the order in which they are
shown; ``aspects`` is a list of name and statement, ``aspect`` is one of them (a call an aspect); ``profile``
is a list of name and value."""

NEEDED: tuple[str, ...] = ("first", "second")
"""What every pairwise prompt must use, beside ``aspects`` or ``aspect``."""


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
    """Fill a pairwise prompt.

    Parameters
    ----------
    template
        The prompt; one that uses ``aspect`` takes exactly one of them.
    data
        The data set, for its statements and language.
    texts
        The two explanations, in the order in which they are shown.
    aspects
        Aspects to ask for, in the order in which they are to be answered.
    item_title, profile
        What is known of item and user.
    reply
        ``json`` or ``text``; ``auto`` is the form that the prompt names first.

    Returns
    -------
    list of tuple
        Role and text of each message.

    Raises
    ------
    PromptError
        If the prompt is not a pairwise one, or cannot show or ask for what is given.
    DataError
        If an aspect is unknown.
    """
    name = template.name
    if not is_pairwise(template):
        raise PromptError(
            f"prompt {name!r} does not compare two texts: it must use 'first' and 'second'; "
            "take 'pairwise', or a file of your own that does"
        )
    if reply != "auto" and reply not in template.reply:
        raise PromptError(
            f"prompt {name!r} cannot ask for a reply in {reply!r}; allowed: auto, {', '.join(template.reply)}"
        )
    if profile and "profile" not in template.placeholders:
        raise PromptError(
            f"prompt {name!r} has no placeholder 'profile', so it cannot show one; "
            "add it to its header and body, or judge without"
        )
    for placeholder in template.placeholders:
        said = f"prompt {name!r}: nothing fills the placeholder"
        one_of(placeholder, PLACEHOLDERS, said, "there are", error=PromptError)
    asked = [{"name": one_line(a), "statement": _statement(data, a)} for a in aspects]
    values: dict[str, object] = {
        "reply_form": template.reply[0] if reply == "auto" else reply,
        "first": texts[0],
        "second": texts[1],
        "item_title": title_of(item_title),
        "profile": entries_of(profile),
        "language": one_line(data.language) or None,
        **({"aspect": asked[0]} if is_single(template) else {"aspects": asked}),
    }
    return template.messages({n: values.get(n) for n in template.placeholders})


def check_pairwise_prompt(path: str | os.PathLike[str]) -> list[Problem]:
    """Return everything that is wrong with a file as a pairwise prompt; an empty list if it can be used."""
    found = check_prompt(path, needed=NEEDED, known=PLACEHOLDERS, samples=_samples())
    if found:
        return found
    file, template = Path(path), load_prompt(Path(path))
    asked = [name for name in ("aspects", "aspect") if name in template.placeholders]
    wrong = []
    if len(asked) != 1:
        wrong.append(f"uses {'both' if asked else 'neither'} 'aspects' and 'aspect'; it must use one of them")
    if len(template.reply) > 1 and "reply_form" not in template.placeholders:
        wrong.append("names two forms of reply and does not use 'reply_form', so both would ask for the same")
    shipped = bundled_prompts().get(template.name)
    if shipped is not None and load_prompt(template.name).hash != template.hash:
        wrong.append(f"has the name of the bundled prompt {template.name!r} and is another; rename it")
    return [Problem(file.name, None, None, message) for message in wrong]


def _statement(data: ExplanationSet, aspect: str) -> str:
    one_of(aspect, data.aspects, f"data set {data.name!r} has no aspect", error=DataError)
    return " ".join(data.aspects[aspect].split())


def _samples() -> list[dict[str, object]]:
    """Return values with and without what is optional, in both forms of reply."""
    aspect = {"name": "clarity", "statement": "I understand it."}
    least: dict[str, object] = {
        "aspects": [aspect],
        "aspect": aspect,
        "first": "A text.",
        "second": "Another.",
    }
    most = {"item_title": "A title", "profile": [{"name": "age", "value": "30"}], "language": "en"}
    return [values | {"reply_form": form} for form in ("json", "text") for values in (least, least | most)]
