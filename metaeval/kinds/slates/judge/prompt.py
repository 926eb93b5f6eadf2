"""What a judge is told of a user and of slates, and the checks of prompts for it."""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping, Sequence

import pandas as pd

from metaeval.base.errors import Problem
from metaeval.judging.prompts import PartedPrompt, Parts, check_file
from metaeval.kinds.known_items import histories_of, items_of, lines_of, user_profiles
from metaeval.kinds.slates.data.slate_set import (
    ANY,
    BOTH,
    ITEM,
    ORDERING,
    POSITION,
    SET,
    SLATE,
    USER,
    SlateSet,
)
from metaeval.llm.prompts.template import PromptTemplate

_OF_DOMAIN = ("platform", "noun", "plural", "popularity", "diversity")
_COMMON = (
    *("task", *_OF_DOMAIN, "liked", "scale_min", "scale_max"),
    *("reason_words", "reply_form", "profile", "history"),
)
TAGS: Mapping[str, str] = {"first_tag": "list-a", "second_tag": "list-b"}

PLACEHOLDERS: tuple[str, ...] = (*_COMMON, *TAGS, "tie", "first", "second")
"""Placeholders of the prompt of a duel. ``task`` is ``T1`` (a set), ``T2`` (an order) or ``T3`` (both).
``platform`` to ``diversity`` are the words of the domain; ``liked`` is what the number in a history is, from
``scale_min`` to ``scale_max``, None if there is none. ``first`` and ``second`` are the slates, a line per
item, to be shown between ``first_tag`` and ``second_tag``. ``tie`` says whether a tie is allowed,
``reason_words`` how long a reason may be, None if none is asked for. ``profile`` and ``history`` are those of
`metaeval.kinds.known_items`."""

RATING_PLACEHOLDERS: tuple[str, ...] = (*_COMMON, "rating_min", "rating_max", "slate")
"""Placeholders of the prompt of one slate, which is to be rated."""

DUEL, RATED = Parts("duel", ("first", "second")), Parts("slate", ("slate",))


class SlatePrompt:
    """A prompt about slates, to be filled for one user and slate after the other.

    ``fields`` are those of the items, all if empty; ``history`` is how many items of a history are shown at
    most; ``fixed`` has further values that are the same for all. The other parameters are those of
    `metaeval.judging.prompts.PartedPrompt`. `DataError` or `PromptError` is raised if data or prompt cannot
    be used.
    """

    def __init__(
        self,
        data: SlateSet,
        template: PromptTemplate,
        parts: Parts,
        *,
        known: Sequence[str],
        reply: str,
        fields: Sequence[str],
        history: int,
        fixed: Mapping[str, object],
    ) -> None:
        items = _items_of(data, fields)
        self._lines = lines_of(items)
        self._of = user_profiles(data, items, _recent(data), history=history).of
        values = {name: getattr(data.domain, name) for name in _OF_DOMAIN} | _liked(data) | dict(fixed)
        self._prompt = PartedPrompt(template, parts, values, known=known, reply=reply)
        listed = data.slates.sort_values(POSITION, kind="stable")
        self._slates = {key: own.tolist() for key, own in listed.groupby([USER, SLATE], sort=False)[ITEM]}
        # Filled once per user and task, and the very same text for all of their duels.
        self._shared = functools.lru_cache(maxsize=4)(self._of_user)

    def messages(self, user: str, task: str, **slates: str) -> list[tuple[str, str]] | None:
        """Return role and text of each message; None if nothing is known of the user.

        Parameters
        ----------
        **slates
            Placeholder → name of the slate that it shows.
        """
        shared = self._shared(user, task)
        if shared is None:
            return None
        shown = {name: self._text(user, slate, task) for name, slate in slates.items()}
        return [*shared, *self._prompt.own({"task": task, **shown})]

    def _of_user(self, user: str, task: str) -> list[tuple[str, str]] | None:
        told = self._of(user)
        return None if told is None else self._prompt.shared({"task": task, **told})

    def _text(self, user: str, slate: str, task: str) -> str:
        """Return a line per item: numbered, or of a set in an order that says nothing."""
        lines = [self._lines[item] for item in self._slates[user, slate]]
        if task == SET:
            return "\n".join(f"- {line}" for line in sorted(lines))
        return "\n".join(f"{place}. {line}" for place, line in enumerate(lines, 1))


def _items_of(data: SlateSet, fields: Sequence[str]) -> dict[str, list[tuple[str, str]]]:
    """Return what is told of each item: its name, where nothing else is known."""
    known = items_of(data, fields) if data.items is not None or fields else {}
    frames = [data.slates, *([] if data.histories is None else [data.histories])]
    names = dict.fromkeys(str(item) for frame in frames for item in frame[ITEM].unique())
    return {item: known.get(item) or [(data.domain.noun, item)] for item in names}


def _recent(data: SlateSet) -> pd.DataFrame:
    """Return the histories without the items of the slates, the last ones first: by time, else by row."""
    import pandas as pd

    if data.histories is None:
        return pd.DataFrame({USER: [], ITEM: []}, dtype=str)
    past = histories_of(data, data.slates)[::-1]
    return past.sort_values("timestamp", ascending=False, kind="stable") if "timestamp" in past else past


def _liked(data: SlateSet) -> dict[str, str]:
    """Return what the numbers in histories are, and the ends of their scale; empty without numbers."""
    if data.histories is None or "rating" not in data.histories or data.histories["rating"].isna().all():
        return {}
    known, scale = data.histories["rating"], data.history_scale
    low, high = (known.min(), known.max()) if scale is None else (scale.min, scale.max)
    return {"liked": data.domain.liked, "scale_min": f"{low:g}", "scale_max": f"{high:g}"}


def check_slates_prompt(path: str | os.PathLike[str]) -> list[Problem]:
    """Return everything that is wrong with a file as a prompt of `Slates`; empty if it can be used."""
    shown = {**TAGS, "first": "1. title: A", "second": "1. title: B", "tie": True}
    return _check(path, PLACEHOLDERS, DUEL, shown)


def check_rating_prompt(path: str | os.PathLike[str]) -> list[Problem]:
    """Return everything that is wrong with a file as a prompt of `SlateRating`; empty if it can be used."""
    shown = {"rating_min": "1", "rating_max": "10", "slate": "1. title: A"}
    return _check(path, RATING_PLACEHOLDERS, RATED, shown)


def _check(
    path: str | os.PathLike[str], known: Sequence[str], parts: Parts, shown: Mapping[str, object]
) -> list[Problem]:
    least = {**shown, **ANY._asdict(), "liked": None, "tie": False}
    history = {"text": "title: C; rated 4", "shown": "1", "total": "2", "recent": True, "ratings": None}
    most = {**shown, **ANY._asdict(), "scale_min": "1", "scale_max": "5", "reason_words": 30}
    most |= {"profile": [{"name": "age", "value": "30"}], "history": history}
    samples = [{**values, "task": task} for values in (least, most) for task in (SET, ORDERING, BOTH)]
    needed = ("task", "plural", "history", *parts.own)
    return check_file(path, needed=needed, known=known, samples=samples, more=parts.wrong)
