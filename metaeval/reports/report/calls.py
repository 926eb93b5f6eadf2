"""What was asked and answered behind the scores in a report; prompts share their lines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from metaeval.llm.calls.terms import phrases
from metaeval.llm.providers.thinking import thought_in
from metaeval.llm.replies.reader import used_up
from metaeval.reports.report.units import Texts
from metaeval.stats.coefficients.tables import Ints

if TYPE_CHECKING:
    from metaeval.llm.store.tools import Conversation

MOST_TEXT = 16_000_000
"""So many characters of prompts and replies a page holds, lines that are repeated counted once."""


@dataclass(slots=True)
class Calls:
    """The calls of the judges in a report."""

    conversations: Mapping[str, Conversation]
    """By the key of the call; a call that the store does not have any more is not there."""
    most: int = MOST_TEXT
    _lines: Texts = field(default_factory=Texts)
    _replies: list[dict[str, Any]] = field(default_factory=list)
    _places: dict[str, int] = field(default_factory=dict)
    _size: int = 0
    _left_out: int = 0
    _gone: int = 0

    def payload(self, keys: Sequence[Any], shown: Ints) -> dict[str, Any]:
        """Return the calls of the units at the positions ``shown`` as JSON values.

        ``keys`` has for each evaluator the key of the call behind each score, shape (what is rated, units),
        empty for none, several with blanks between them; None for an evaluator that asks no one.
        """
        judges = [e for e, found in enumerate(keys) if found is not None]
        of: list[Any] = [None] * len(keys)
        for e in judges:
            of[e] = np.full((len(keys[e]), len(shown)), -1)
        # Unit by unit, so that a page that cannot hold all has those of some units whole.
        for row, unit in enumerate(shown):
            for e in judges:
                of[e][:, row] = [self._place(key) for key in keys[e][:, unit]]
        return {
            "lines": self._lines.all,
            "replies": self._replies,
            "of": [None if found is None else found.tolist() for found in of],
            "note": self._note(),
        }

    def _note(self) -> str:
        parts = []
        if self._left_out:
            parts.append(
                f"{_calls(self._left_out)} left out of this page to keep it small; `metaeval store "
                "export` writes them."
            )
        if self._gone:
            parts.append(f"{_calls(self._gone)} not in the store when the page was made.")
        return " ".join(parts)

    def _place(self, key: str) -> int:
        """Return the position of a call among those on the page; -1 if it is not there."""
        if not key:
            return -1
        if " " in key and key not in self._places:
            samples = [place for one in key.split() if (place := self._place(one)) >= 0]
            self._places[key] = len(self._replies) if samples else -1
            self._replies += [{"samples": samples}] if samples else []
        if key not in self._places:
            conversation = self.conversations.get(key)
            if conversation is None or self._size > self.most:
                self._gone += conversation is None
                self._left_out += conversation is not None
                self._places[key] = -1
            else:
                self._places[key] = len(self._replies)
                self._replies.append(self._of(key, conversation))
        return self._places[key]

    def _of(self, key: str, conversation: Conversation) -> dict[str, Any]:
        reply = conversation.reply
        thought = thought_in(reply.text, reply.raw)
        self._size += len(thought.text) + len(thought.answer)
        return {
            "key": key,
            "prompt": [
                {"role": m.role, "lines": list(self._taken(m.content.split("\n")))}
                for m in conversation.messages
            ],
            "text": thought.answer,
            "thought": thought.text,
            "thoughtTokens": thought.tokens,
            "usedUp": used_up(reply.text, reply.finish_reason),
            "sent": ", ".join(phrases(reply.sent)),
            "refusal": reply.refusal or "",
            "finish": reply.finish_reason or "",
            "model": reply.model or "",
            "error": f"{reply.error.kind}: {reply.error.message}" if reply.error else "",
        }

    def _taken(self, lines: Iterable[str]) -> Iterable[int]:
        for line in lines:
            before = len(self._lines)
            place = self._lines.place(line)
            self._size += len(line) if len(self._lines) > before else 0
            yield place


def _calls(n: int) -> str:
    return f"{n:,} call was" if n == 1 else f"{n:,} calls were"
