"""What a judge asks: the criteria that it rates beside the whole, and the values of its prompt."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from metaeval.base.errors import SpecError, nearest
from metaeval.judging.prompts import Parts, check_file
from metaeval.kinds.relevance.data.collection import RELEVANCE

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from metaeval.base.errors import Problem
    from metaeval.kinds.relevance.data.collection import Collection

CRITERIA: Mapping[str, str] = {
    "genre": "does it match the genres and subgenres that this person likes, such as action or romance?",
    "tone": "does it match the tone and mood that they like, such as light-hearted, dark or intense?",
    "complexity": "does it match how simple or how layered they like their stories?",
    "pacing": "does it match how slow or how fast they like things to move?",
    "themes": "does it match the themes and topics that they like, such as friendship or revenge?",
    "cast": "does it match the people they like: actors, directors, authors, hosts and the like?",
    "culture": "does it match the countries, languages and cultures whose works they like?",
    "commitment": "does it match how much time they like to spend, such as its running time?",
    "period": "does it match whether they like classics or what is new?",
    "popularity": "does it match whether they like what everybody knows or what few know?",
    "ratings": "does it match how much they care for what others rated highly?",
}
"""Name → question; after the criteria of the study of LLM judges for recommender systems (its Figure 6)."""

COT, SUM = WAYS = ("cot", "sum")
REASON = "reason"


class Criteria(NamedTuple):
    """What is rated beside the whole, and how it is put together."""

    way: str
    """``cot``: the model rates each, then the whole; ``sum``: the score is the sum of the ratings."""
    questions: Mapping[str, str]


def criteria_of(criteria: str | Sequence[str] | None) -> Criteria:
    """Return the criteria of a judge, from its argument.

    Raises
    ------
    SpecError
        If a name is unknown, stands twice or is taken.
    """
    if criteria is None:
        return Criteria(COT, {})
    listed = [criteria] if isinstance(criteria, str) else list(criteria)
    way = listed.pop(0) if listed and listed[0] in WAYS else COT
    if isinstance(criteria, str) and listed:
        raise _wrong(f"{criteria!r} is none of cot and sum{nearest(criteria, WAYS)}")
    questions: dict[str, str] = {}
    for text in listed or CRITERIA:
        name, colon, question = (" ".join(part.split()) for part in str(text).partition(":"))
        if name in questions or name in (REASON, RELEVANCE) or not name:
            raise _wrong(f"{name!r} is twice in it, or is a word of every reply")
        if not (question if colon else name in CRITERIA):
            raise _wrong(f"{name!r} is not known{nearest(name, CRITERIA)}")
        questions[name] = question or CRITERIA[name]
    return Criteria(way, questions)


def _wrong(why: str) -> SpecError:
    return SpecError(
        f"Relevance: criteria: {why}; write 'cot', 'sum', or a list such as ['sum', 'genre', 'host: does it "
        f"match …?'] of known names ({', '.join(CRITERIA)}) and of your own with a question"
    )


PLACEHOLDERS: tuple[str, ...] = (
    *("question", "scale_min", "scale_max", "integer", "labels", "criteria", "overall", "reply_form"),
    *("profile", "history", "item"),
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
            {"label": str(n), "name": " ".join(name.split())} for n, name in sorted(data.labels.items())
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
