"""What a judge is told of a user and an item, and the check of a prompt for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from metaeval.judging.prompts import Parts, check_file
from metaeval.kinds.relevance.judge.criteria import COT, CRITERIA

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from metaeval.base.errors import Problem
    from metaeval.kinds.relevance.data.collection import Collection
    from metaeval.kinds.relevance.judge.criteria import Criteria

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

PARTS = Parts("item", ("item",))


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
    return check_file(path, needed=NEEDED, known=PLACEHOLDERS, samples=_SAMPLES, more=PARTS.wrong)


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
