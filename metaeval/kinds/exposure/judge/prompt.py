"""What a judge is told of a user and of two items, and the check of prompts for it."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from metaeval.judging.prompts import PartedPrompt, Parts, check_file
from metaeval.kinds.exposure.data.log_set import ITEM, TIME
from metaeval.kinds.known.entries import lines_of
from metaeval.kinds.known.histories import histories_of, items_of
from metaeval.kinds.known.user_context import user_profiles

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from metaeval.base.errors import Problem
    from metaeval.kinds.exposure.data.log_set import LogSet
    from metaeval.llm.prompts.template import PromptTemplate

TAGS: Mapping[str, str] = {
    "profile_tag": "profile",
    "history_tag": "history",
    "first_tag": "item-a",
    "second_tag": "item-b",
}
"""Placeholder → the tag between which a block of user or item stands: all that evidence may quote."""

PLACEHOLDERS: tuple[str, ...] = (
    *("outcome", "outcome_min", "outcome_max", *TAGS, "tie", "reply_form"),
    *("profile", "history", "first", "second"),
)
"""Placeholders of the prompt. ``outcome`` is what an outcome in the log is, from ``outcome_min`` to
``outcome_max``. ``profile`` is a line per field, ``history`` that of `metaeval.kinds.known.user_context`,
``first`` and ``second`` are the items, each to be shown between its tags. ``tie``: whether one is allowed."""

PARTS = Parts("pair", ("first", "second"))
_UNTOLD = ("released",)
"""Fields of items that are told only if they are asked for: seconds since 1970."""


class PairPrompt:
    """A prompt about matched pairs, to be filled for one user and pair after the other.

    Parameters
    ----------
    data
        The pairs, the log, and what is known of users and items.
    template, reply
        As for `metaeval.judging.prompts.PartedPrompt`.
    fields, history
        Fields of the items, all if empty; how many rows of the user's log at most.
    tie
        Whether a tie is allowed.

    Raises
    ------
    DataError, PromptError
        If data or prompt cannot be used.
    """

    def __init__(
        self,
        data: LogSet,
        template: PromptTemplate,
        *,
        reply: str,
        fields: Sequence[str],
        history: int,
        tie: bool,
    ) -> None:
        items = _items_of(data, fields)
        self._lines = lines_of(items)
        past = histories_of(data, data.judged)[::-1]
        if TIME in past:
            past = past.sort_values(TIME, ascending=False, kind="stable")
        self._of = user_profiles(data, items, past, history=history).of
        fixed = {
            "outcome": data.statement or "the outcome in the log",
            "outcome_min": f"{data.outcome.min:g}",
            "outcome_max": f"{data.outcome.max:g}",
            "tie": tie,
            **TAGS,
        }
        self._prompt = PartedPrompt(template, PARTS, fixed, known=PLACEHOLDERS, reply=reply)
        # Filled once per user, and the very same text for all of the pairs.
        self._shared = functools.lru_cache(maxsize=4)(self._of_user)

    def messages(self, user: str, first: str, second: str) -> list[tuple[str, str]] | None:
        """Return role and text of each message; None if nothing is known of the user."""
        shared = self._shared(user)
        if shared is None:
            return None
        return [*shared, *self._prompt.own({"first": self._lines[first], "second": self._lines[second]})]

    def _of_user(self, user: str) -> list[tuple[str, str]] | None:
        told = self._of(user)
        if told is None:
            return None
        profile = "\n".join(f"{entry['name']}: {entry['value']}" for entry in told["profile"] or ())
        return self._prompt.shared({**told, "profile": profile or None})


def _items_of(data: LogSet, fields: Sequence[str]) -> dict[str, list[tuple[str, str]]]:
    """Return what is told of each item: its name, where nothing else is known."""
    known: dict[str, list[tuple[str, str]]] = {}
    if data.items is not None or fields:
        every = [] if data.items is None else [c for c in map(str, data.items) if c not in {ITEM, *_UNTOLD}]
        known = items_of(data, fields or every)
    past = data.histories
    names = {*data.judged[ITEM], *([] if past is None else past[ITEM].unique())}
    return {item: known.get(item) or [("item", item)] for item in sorted(map(str, names))}


def check_pairs_prompt(path: str | os.PathLike[str]) -> list[Problem]:
    """Return everything that is wrong with a file as a prompt of `MatchedPairs`; empty if it can be used."""
    shown = {"outcome": "Did the user click?", "outcome_min": "0", "outcome_max": "1", **TAGS}
    least = {**shown, "tie": False, "first": "title: A", "second": "title: B"}
    history = {"text": "title: C; rated 1", "shown": "1", "total": "2", "recent": True, "ratings": None}
    most = {**least, "tie": True, "profile": "age: 30", "history": history}
    needed = ("outcome", "history", *PARTS.own)
    return check_file(path, needed=needed, known=PLACEHOLDERS, samples=[least, most], more=PARTS.wrong)
