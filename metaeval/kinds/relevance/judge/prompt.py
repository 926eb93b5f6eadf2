"""What a judge is told of a user and an item, and the check of a prompt for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from metaeval.base.errors import PromptError
from metaeval.judging.prompts import check_file, filled
from metaeval.kinds.relevance.judge.criteria import COT, CRITERIA

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from metaeval.base.errors import Problem
    from metaeval.kinds.relevance.data.collection import Collection
    from metaeval.kinds.relevance.judge.criteria import Criteria
    from metaeval.llm.prompts.template import PromptTemplate

PLACEHOLDERS: tuple[str, ...] = (
    "question",
    "scale_min",
    "scale_max",
    "integer",
    "labels",
    "criteria",
    "overall",
    "reply_form",
    "profile",
    "history",
    "item",
)
"""Placeholders of the prompt. ``labels`` is a list of label and name; ``criteria`` one of name and question,
and ``overall`` says whether the label is asked for too. ``profile`` is a list of name and value; ``history``
has ``text``, ``shown`` and ``total`` (numbers of items), ``recent`` and ``ratings`` (``low`` and ``high``).
``item`` is the text of the item, which only the last part may show."""

NEEDED: tuple[str, ...] = ("question", "scale_min", "scale_max", "history", "item")
"""Placeholders that it must use."""

_NOT_LAST = (
    "has no part before the one with the item; write what is the same for all items of a user above a line "
    "`<!-- user -->`, so that a provider's cache can hold it"
)
_TOO_EARLY = (
    "shows the item before its last part; move it below the last line `<!-- user -->`, since what stands "
    "above is the same for all items of a user"
)
_LATE = "shows history or profile in its last part; move them above the last line `<!-- user -->`"


class RelevancePrompt:
    """A prompt in two pieces: what all items of a user share, and the rest.

    Raises
    ------
    PromptError
        If it has no such pieces.
    """

    def __init__(self, template: PromptTemplate, shared: Mapping[str, Any], reply: str) -> None:
        wrong = _wrong_parts(template)
        if wrong:
            raise PromptError(f"prompt {template.name!r} {wrong[0]}")
        self._first, self._last = template.of_parts(slice(-1)), template.of_parts(slice(-1, None))
        self._shared, self._reply = shared, reply

    def of_user(self, told: Mapping[str, Any]) -> list[tuple[str, str]]:
        """Return role and text of the messages that all items of a user share."""
        return self._filled(self._first, {**self._shared, **told})

    def of_item(self, text: str) -> list[tuple[str, str]]:
        """Return role and text of the message about an item."""
        return self._filled(self._last, {**self._shared, "item": text})

    def _filled(self, template: PromptTemplate, values: Mapping[str, Any]) -> list[tuple[str, str]]:
        return filled(template, (), values, known=PLACEHOLDERS, reply=self._reply)


def shared_values(data: Collection, aspect: str, criteria: Criteria) -> dict[str, Any]:
    """Return the values of the placeholders that are the same for all users."""
    return {
        "question": " ".join(data.aspects[aspect].split()),
        "scale_min": f"{data.scale.min:g}",
        "scale_max": f"{data.scale.max:g}",
        "integer": data.scale.integer,
        "labels": [
            {"label": str(label), "name": " ".join(name.split())}
            for label, name in sorted(data.labels.items())
        ]
        or None,
        "criteria": [{"name": n, "question": q} for n, q in criteria.questions.items()] or None,
        "overall": criteria.way == COT,
    }


def check_relevance_prompt(path: str | os.PathLike[str]) -> list[Problem]:
    """Return everything that is wrong with a file as a prompt of `Relevance`; empty if it can be used."""
    return check_file(path, needed=NEEDED, known=PLACEHOLDERS, samples=_SAMPLES, more=_wrong_parts)


def _wrong_parts(template: PromptTemplate) -> list[str]:
    first, last = template.of_parts(slice(-1)), template.of_parts(slice(-1, None))
    if not first.parts:
        return [_NOT_LAST]
    late = {"history", "profile"} & {*last.placeholders}
    return [*([_TOO_EARLY] if "item" in first.placeholders else []), *([_LATE] if late else [])]


_LEAST: Mapping[str, object] = {
    "question": "How interested are you in it?",
    "scale_min": "1",
    "scale_max": "5",
    "integer": True,
    "overall": True,
    "item": "title: A",
}
_SAMPLES: Sequence[Mapping[str, object]] = (
    _LEAST,
    {
        **_LEAST,
        "overall": False,
        "labels": [{"label": "1", "name": "not interested"}],
        "criteria": [{"name": name, "question": question} for name, question in CRITERIA.items()],
        "profile": [{"name": "age", "value": "30"}],
        "history": {
            "text": "title: B; rated 4",
            "shown": "1",
            "total": "2",
            "recent": True,
            "ratings": {"low": "1", "high": "5"},
        },
    },
)
