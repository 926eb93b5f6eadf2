"""Text shown as it is, in the formats that give some characters a meaning; words around tables."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from metaeval.base.records import Status

_MARKDOWN = re.compile(r"([\\`*_{}\[\]|~#$])")
_ENTITY = re.compile(r"&(?=[#\w])")
_TAG = re.compile(r"<(?=[A-Za-z/!?])")


def markdown(text: str) -> str:
    """Return text that Markdown shows as it is, in a table too."""
    plain = _ENTITY.sub("&amp;", " ".join(text.split()))
    if _TAG.search(plain) or plain.startswith(">"):
        plain = plain.replace("<", "&lt;").replace(">", "&gt;")
    return _MARKDOWN.sub(r"\\\1", plain)


STATUSES: Mapping[str, str] = {
    Status.MISSING: "the source has none",
    Status.UNTOKENIZABLE: "the text has no words to compare",
    Status.EXAMPLE: "shown to the judge as an example",
    Status.REFUSED: "the judge would not answer",
    Status.UNPARSED: "the reply has no score",
    Status.OUT_OF_RANGE: "the score is not on the scale",
    Status.TRUNCATED: "the reply is cut off",
    Status.INVENTED: "the evidence in the reply is not in the prompt",
    Status.UNWEIGHED: "the reply has no token probabilities",
    Status.TRANSPORT: "no reply came",
    Status.BUDGET: "not asked: the budget was used up",
}
"""Why there is no score."""

LOST = "LOST REPLIES."
"""What stands before the sentences on calls without a reply, and on many replies that were not read."""


def notice(lost: Sequence[str]) -> str:
    """Return what a Markdown text begins with if replies were lost; empty if none were."""
    return f"> **{LOST}** {' '.join(map(markdown, lost))}\n\n" if lost else ""


def meanings(of: Mapping[str, str], words: Collection[str]) -> str:
    """Return what some words mean, in the order of the meanings: "word: meaning; …"."""
    return "; ".join(f"{word}: {meaning}" for word, meaning in of.items() if word in words)
