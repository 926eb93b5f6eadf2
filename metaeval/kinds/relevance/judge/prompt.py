"""What a judge is asked about and shown, the criteria that it rates, and the values of its prompt."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from metaeval.base.errors import DataError, Problem, SpecError, nearest
from metaeval.judging.prompts import Parts, check_file
from metaeval.kinds.known_items import ITEM, USER, Profiles, histories_of, user_profiles
from metaeval.kinds.relevance.data.collection import KEYS, RELEVANCE, Collection
from metaeval.stats.resampling.weights import permutation

RANDOM, RECENT = ORDERS = ("random", "recent")


def profiles_of(
    data: Collection,
    items: Mapping[str, Sequence[tuple[str, str]]],
    *,
    history: int,
    order: str,
    seed: int,
    room: int | None,
) -> Profiles:
    """Return what is shown of each user: `user_profiles` of the most recent, or of a drawn history.

    Raises
    ------
    DataError
        If the data have nothing to show, or no times to order by.
    """
    past = _ordered(data, order, needed=history > 0 and (data.profiles is None or data.profiles.empty))
    seed_of = seed if order == RANDOM else None
    return user_profiles(data, items, past, history=history, drawn=seed_of, room=room)


def _ordered(data: Collection, order: str, *, needed: bool) -> pd.DataFrame:
    """Return the histories in an order that does not depend on that of their rows, the most recent first."""
    if data.histories is None and not needed:
        return pd.DataFrame({USER: [], ITEM: []}, dtype=str)
    past = histories_of(data, data.units).sort_values(ITEM)
    if order == RANDOM:
        return past
    if "timestamp" not in past:
        raise DataError(
            f"order='recent' needs a column 'timestamp' in the histories of data set {data.name!r}; write "
            "order='random'"
        )
    return past.sort_values("timestamp", ascending=False, kind="stable")


def sampled(data: Collection, labels: int | None, seed: int) -> list[int]:
    """Return the positions of so many units of each user, all if None; those of a user come together.

    The sample of a user depends on the seed and on the user's units alone. The units are sorted by pool
    depth, the best rank that any run gives them, those of no run last, equal ones in drawn order. The sample
    is spread evenly over them, whatever its size, and a smaller one is part of a larger one: with more
    labels, nothing is asked again.
    """
    best = data.runs.groupby(list(KEYS))["rank"].min().reset_index()
    depths = data.units.merge(best, on=list(KEYS), how="left")["rank"].fillna(np.inf).to_numpy()
    chosen: list[int] = []
    for user, positions in data.units.groupby(USER, sort=False).indices.items():
        drawn = np.asarray(positions)[permutation(len(positions), seed, "labels", str(user))]
        by_depth = drawn[np.argsort(depths[drawn], kind="stable")]
        (shift,) = permutation(len(positions), seed, "shift", str(user))[:1]
        chosen += sorted(by_depth[spread(len(positions), shift)[:labels]].tolist())
    return chosen


def spread(count: int, shift: int) -> list[int]:
    """Return the first ``count`` whole numbers, in an order whose every beginning is spread evenly over them.

    It is van der Corput's sequence, moved by ``shift`` around the circle.
    """
    bits = (count - 1).bit_length()
    turned = (int(f"{i:b}".zfill(bits)[::-1], 2) for i in range(1 << bits))
    return [(i + shift) % count for i in turned if i < count]


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
