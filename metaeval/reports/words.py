"""The words around tables, the same in every format; each format escapes them itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metaeval.base.records import Status
from metaeval.reports.escapes import markdown

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

STATUSES: Mapping[str, str] = {
    Status.MISSING: "the source has none",
    Status.UNTOKENIZABLE: "no words to compare in the text",
    Status.EXAMPLE: "shown to the judge as an example, so not scored",
    Status.REFUSED: "the judge would not answer",
    Status.UNPARSED: "no score to be found in the reply",
    Status.OUT_OF_RANGE: "what the judge gave is not on the scale",
    Status.TRUNCATED: "the reply breaks off",
    Status.INVENTED: "the evidence in the reply is not in the prompt",
    Status.UNWEIGHED: "the reply lacks the probabilities to weigh its score by",
    Status.TRANSPORT: "no reply came",
    Status.BUDGET: "not asked: the budget was spent",
}
"""Why there is no score."""

LOST = "CALLS WITHOUT A REPLY."
"""What stands before the sentences on calls that brought no reply."""


def notice(lost: Sequence[str]) -> str:
    """Return what a Markdown text begins with if calls brought no reply; empty if none did."""
    return f"> **{LOST}** {' '.join(map(markdown, lost))}\n\n" if lost else ""


def meanings(of: Mapping[str, str], words: Collection[str]) -> str:
    """Return what some words mean, in the order of the meanings: "word: meaning; …"."""
    return "; ".join(f"{word}: {meaning}" for word, meaning in of.items() if word in words)
