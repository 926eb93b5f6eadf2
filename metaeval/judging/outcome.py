"""What a judge's replies come to: scores, failures, and what they cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from metaeval.base.records import Status
from metaeval.evaluators.grid import CODES, OK, Grid

if TYPE_CHECKING:
    from collections.abc import Sequence

    from metaeval.llm.calls.request import Reply
    from metaeval.llm.calls.work import Answer
    from metaeval.llm.replies.reader import Parsed

_FAILURES = {"budget": Status.BUDGET}


def failure_of(reply: Reply, parsed: Parsed | None) -> Status:
    """Return why a last reply has no values; ``parsed`` is None if there was nothing to read."""
    if parsed is not None:
        return parsed.status
    return _FAILURES.get(reply.error.kind if reply.error else "", Status.TRANSPORT)


class Judged:
    """What judging has brought so far; arrays have shape (units, aspects)."""

    def __init__(self, units: int, aspects: int) -> None:
        shape = (units, aspects)
        self.grid = Grid(np.full(shape, np.nan), np.full(shape, CODES[Status.MISSING], np.int8))
        self.tokens, self.usd, self.seconds = (np.full(shape, np.nan) for _ in range(3))
        self.call = np.full(shape, "", dtype=object)
        self.models: set[str] = set()
        self.fingerprints: set[str] = set()
        self.outcome: dict[str, Any] = {}

    def take(
        self, unit: int, asked: tuple[int, ...], names: Sequence[str], answer: Answer, parsed: Parsed | None
    ) -> None:
        """Note the values of a reply, or why it has none."""
        cells = (unit, list(asked))
        last = answer.reply
        if parsed is None or parsed.values is None:
            self.grid.codes[cells] = CODES[failure_of(last, parsed)]
        else:
            self.grid.codes[cells] = OK
            self.grid.scores[cells] = [parsed.values[name] for name in names]
        self.call[cells] = answer.request.again(len(answer.replies) - 1).key
        self.models.update(r.model for r in answer.replies if r.model)
        self.fingerprints.update(r.fingerprint for r in answer.replies if r.fingerprint)

    def pay(self, unit: int, asked: tuple[int, ...], answer: Answer, costs: Sequence[float | None]) -> None:
        """Note tokens, cost and time of all attempts, shared by the aspects that were asked for."""
        cells = (unit, list(asked))
        known = [r.total_tokens for r in answer.replies if r.total_tokens is not None]
        if len(known) == len(answer.replies):
            self.tokens[cells] = sum(known) / len(asked)
        priced = [c for c in costs if c is not None]
        if len(priced) == len(costs):
            self.usd[cells] = sum(priced) / len(asked)
        self.seconds[cells] = sum(r.service_seconds for r in answer.replies) / len(asked)
