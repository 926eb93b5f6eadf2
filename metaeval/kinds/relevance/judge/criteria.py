"""What a judge rates beside the whole: named criteria, put together by the model or by their sum."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from metaeval.base.errors import SpecError, nearest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

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
REASON, RELEVANCE = "reason", "relevance"

Given: TypeAlias = "str | Sequence[str] | None"


class Criteria(NamedTuple):
    """What is rated beside the whole, and how it is put together."""

    way: str
    """``cot``: the model rates each, then the whole; ``sum``: the score is the sum of the ratings."""
    questions: Mapping[str, str]


NONE = Criteria(COT, {})


def criteria_of(given: Given) -> Criteria:
    """Return the criteria of a judge.

    Parameters
    ----------
    given
        None; ``cot`` or ``sum``, for all that are known; or a list, which may begin with ``cot`` (as if left
        out) or ``sum``, of known names and of your own with a question: ``host: does it match …?``.

    Raises
    ------
    SpecError
        If a name is unknown, stands twice or is taken.
    """
    if given is None:
        return NONE
    listed = [given] if isinstance(given, str) else list(given)
    way = listed.pop(0) if listed and listed[0] in WAYS else COT
    if isinstance(given, str) and listed:
        raise _wrong(f"{given!r} is none of cot and sum{nearest(given, WAYS)}")
    questions: dict[str, str] = {}
    for one in listed or CRITERIA:
        name, colon, question = (" ".join(part.split()) for part in str(one).partition(":"))
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
