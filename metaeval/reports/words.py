"""The words around tables, the same in every format; each format escapes them itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metaeval.base.records import Status
from metaeval.reports.escapes import markdown

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

STATUSES: Mapping[str, str] = {
    Status.MISSING: "the source has none",
    Status.UNTOKENIZABLE: "the text has no words to compare",
    Status.EXAMPLE: "shown to the judge as an example, so not scored",
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

LOST = "CALLS WITHOUT A REPLY."
"""What stands before the sentences on calls that brought no reply."""


def notice(lost: Sequence[str]) -> str:
    """Return what a Markdown text begins with if calls brought no reply; empty if none did."""
    return f"> **{LOST}** {' '.join(map(markdown, lost))}\n\n" if lost else ""


def meanings(of: Mapping[str, str], words: Collection[str]) -> str:
    """Return what some words mean, in the order of the meanings: "word: meaning; …"."""
    return "; ".join(f"{word}: {meaning}" for word, meaning in of.items() if word in words)
