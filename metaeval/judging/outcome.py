"""What becomes of a judge's replies: scores, failures and costs."""

from __future__ import annotations

from collections import defaultdict
from statistics import fmean, mode
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from metaeval.base.records import Status
from metaeval.evaluators.grid import CODES, Grid
from metaeval.llm.calls.terms import phrases
from metaeval.llm.replies.thought import thought_tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from metaeval.judging.model_evaluator import Question
    from metaeval.llm.calls.price import Prices
    from metaeval.llm.calls.request import Reply
    from metaeval.llm.calls.work import Answer
    from metaeval.llm.replies.fields import Given
    from metaeval.llm.replies.reader import Parsed

COSTS = ("tokens", "usd", "seconds", "reasoning_tokens")
_NAN = float("nan")


class Answered(NamedTuple):
    """The reply to one question, all attempts together."""

    read: Mapping[str, Given] | None
    """Field → value; None unless ``status`` is ``ok``."""
    status: Status
    invented: tuple[str, ...]
    """Texts whose evidence is not in the prompt."""
    call: str
    """Key of the last reply in the store; keys with blanks between them, of several samples."""
    cost: Mapping[str, float]
    """Tokens, USD, seconds, and the tokens of thought among the tokens; NaN where unknown."""
    replies: Sequence[Reply]


def answered(answer: Answer, parsed: Parsed | None, prices: Prices) -> Answered:
    """Return what a question brought; ``parsed`` is None if there was nothing to read."""
    replies = answer.replies
    if parsed is not None:
        status = parsed.status
    else:
        error = answer.reply.error
        status = Status.BUDGET if error and error.kind == "budget" else Status.TRANSPORT
    spent: tuple[list[float | None], ...] = (
        [r.total_tokens for r in replies],
        [prices.cost(answer.request, r) for r in replies],
        [None if r.by_batch else r.service_seconds for r in replies],
        [thought_tokens(r.raw) for r in replies],
    )
    return Answered(
        parsed.values if parsed is not None else None,
        status,
        parsed.invented if parsed is not None else (),
        answer.request.again(len(replies) - 1).key,
        {of: sum(_NAN if s is None else s for s in each) for of, each in zip(COSTS, spent, strict=True)},
        replies,
    )


def _mean(samples: Sequence[Answered]) -> Answered:
    """Return several replies to a question as one: a mean, or the most frequent reason that there is none.

    One that did not come, and may the next time, leaves the others waiting: a score does not depend on luck.
    """
    to_come = [found for found in samples if found.status in (Status.TRANSPORT, Status.BUDGET)]
    read = [found.read for found in samples if found.read is not None]
    scored = not to_come and 2 * len(read) >= len(samples)
    numbers = [name for name, value in (read or [{}])[0].items() if not isinstance(value, str)]
    return Answered(
        {name: fmean(float(of[name]) for of in read) for name in numbers} if scored else None,
        Status.OK if scored else mode(f.status for f in to_come or samples if f.read is None),
        tuple(dict.fromkeys(name for found in samples for name in found.invented)),
        " ".join(found.call for found in to_come or samples),
        {column: sum(found.cost[column] for found in samples) for column in COSTS},
        [reply for found in samples for reply in found.replies],
    )


class Outcome:
    """What judging has brought so far."""

    def __init__(self) -> None:
        self._models: set[str] = set()
        self._fingerprints: set[str] = set()
        self._sent: set[str] = set()

    def meet(self, found: Answered) -> None:
        """Note which model replied, and what was sent otherwise than asked for."""
        self._models.update(r.model for r in found.replies if r.model)
        self._fingerprints.update(r.fingerprint for r in found.replies if r.fingerprint)
        self._sent.update(phrase for r in found.replies if r.sent for phrase in phrases(r.sent))

    @property
    def met(self) -> dict[str, list[str]]:
        """The models and their fingerprints, as the provider named them, and what was sent otherwise."""
        met = {"models": sorted(self._models), "fingerprints": sorted(self._fingerprints)}
        return {**met, "sent": sorted(self._sent)} if self._sent else met


class Judged(Outcome):
    """What judging unit by unit has brought so far; arrays have shape (units, aspects).

    Parameters
    ----------
    value
        From what was read of a reply, and an aspect, to its score.
    samples
        Replies to each question: a score is the mean of those that were read, of which there must be half.
    """

    def __init__(
        self,
        units: int,
        aspects: Sequence[str],
        value: Callable[[Mapping[str, Given], str], float],
        samples: int = 1,
    ) -> None:
        super().__init__()
        self._aspects, self._value, self._samples = tuple(aspects), value, samples
        self._waiting: defaultdict[tuple[Any, ...], dict[int, Answered]] = defaultdict(dict)
        shape = (units, len(aspects))
        self.grid = Grid(np.full(shape, np.nan), np.full(shape, CODES[Status.MISSING], np.int8))
        self.columns: dict[str, Any] = {column: np.full(shape, np.nan) for column in COSTS}
        self.columns["call"] = np.full(shape, "", dtype=object)

    def take(self, question: Question, found: Answered) -> None:
        """Note the values of a reply, or why it has none, and its cost, shared by the aspects asked for."""
        self.meet(found)
        if self._samples > 1:
            place = question.about, question.aspects
            self._waiting[place][question.request.replicate] = found
            if len(self._waiting[place]) < self._samples:
                return
            found = _mean([of for _, of in sorted(self._waiting.pop(place).items())])
        asked = question.aspects
        first, last = asked[0], asked[-1] + 1
        # A slice is far faster than a list; the aspects of a question are those between two, or one.
        cells = (question.about[0], slice(first, last) if last - first == len(asked) else list(asked))
        self.grid.codes[cells] = CODES[found.status]
        if found.read is not None:
            self.grid.scores[cells] = [self._value(found.read, self._aspects[a]) for a in asked]
        for column, spent in found.cost.items():
            self.columns[column][cells] = spent / len(asked)
        self.columns["call"][cells] = found.call
