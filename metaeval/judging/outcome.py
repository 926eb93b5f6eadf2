"""What becomes of a judge's replies: scores, failures and costs."""

from __future__ import annotations

import copy
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import mode
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from metaeval.base.records import SAMPLES, Status
from metaeval.evaluators.grid import CODES, OK, Grid, IntArray
from metaeval.llm.calls.request import Reply, Request
from metaeval.llm.calls.terms import phrases
from metaeval.llm.providers.answers import thought_tokens
from metaeval.stats.coefficients.tables import exact_mean

if TYPE_CHECKING:
    from metaeval.llm.calls.price import Prices
    from metaeval.llm.calls.work import Answer
    from metaeval.llm.replies.fields import Field, Given
    from metaeval.llm.replies.reader import Parsed

_STRIPPED = np.vectorize(str.strip, otypes=[object])
COSTS = ("tokens", "usd", "seconds", "reasoning_tokens")
_NAN = float("nan")


class Question(NamedTuple):
    """One thing to ask."""

    about: tuple[int, ...]
    """Position of the unit in the data; or of a pair of units, and 0 or 1: whose text is shown first."""
    aspects: tuple[int, ...]
    """Positions of the aspects that the reply is to rate, among those that are scored."""
    fields: Sequence[Field]
    """What the reply is to give."""
    request: Request


class QuestionResult(NamedTuple):
    """The reply to one question, all attempts together."""

    read: Mapping[str, Given] | None
    """Field → value; None unless ``status`` is ``ok``."""
    status: Status
    invented: tuple[str, ...]
    """Fields whose evidence is not in the prompt."""
    unfound: tuple[str, ...]
    """The evidence that is not."""
    call: str
    """Key of the last reply in the store; keys with blanks between them, of several samples."""
    cost: Sequence[float]
    """The `COSTS`: tokens, USD, seconds, and the reasoning tokens among the tokens; NaN where unknown."""
    replies: Sequence[Reply]


def result_of(answer: Answer, parsed: Parsed | None, prices: Prices) -> QuestionResult:
    """Return what a question brought; ``parsed`` is None if there was nothing to read."""
    replies = answer.replies
    if parsed is not None:
        status = parsed.status
    else:
        error = answer.reply.error
        status = Status.BUDGET if error and error.kind == "budget" else Status.TRANSPORT
    spent = [_spent(answer.request, reply, prices) for reply in replies]
    return QuestionResult(
        parsed.values if parsed is not None else None,
        status,
        parsed.invented if parsed is not None else (),
        parsed.unfound if parsed is not None else (),
        answer.request.again(len(replies) - 1).key,
        spent[0] if len(spent) == 1 else _sums(spent),
        replies,
    )


def _spent(request: Request, reply: Reply, prices: Prices) -> tuple[float, ...]:
    tokens, usd = reply.total_tokens, prices.cost(request, reply)
    return (
        _NAN if tokens is None else tokens,
        _NAN if usd is None else usd,
        _NAN if reply.by_batch else reply.service_seconds,
        thought_tokens(reply.raw),
    )


def _sums(costs: Iterable[Sequence[float]]) -> list[float]:
    return [sum(each) for each in zip(*costs, strict=True)]


def _mean(samples: Sequence[QuestionResult]) -> QuestionResult:
    """Return several replies to a question as one: a mean, or the most frequent reason that there is none.

    One that did not come, and may the next time, leaves the others waiting: a score does not depend on luck.
    """
    to_come = [found for found in samples if found.status in (Status.TRANSPORT, Status.BUDGET)]
    read = [found.read for found in samples if found.read is not None]
    scored = not to_come and 2 * len(read) >= len(samples)
    return QuestionResult(
        {name: _together([of[name] for of in read]) for name in read[0]} if scored else None,
        Status.OK if scored else mode(f.status for f in to_come or samples if f.read is None),
        tuple(dict.fromkeys(name for found in samples for name in found.invented)),
        tuple(text for found in samples for text in found.unfound),
        " ".join(found.call for found in to_come or samples),
        _sums(found.cost for found in samples),
        [reply for found in samples for reply in found.replies],
    )


def _together(values: Sequence[Given]) -> Given:
    """Return the mean of numbers; texts one below the other."""
    texts = [value for value in values if isinstance(value, str)]
    return "\n".join(texts) if texts else float(exact_mean(np.array(values, dtype=np.float64)[:, None])[0])


class Outcome:
    """What judging has brought so far."""

    def __init__(self) -> None:
        self._models: set[str] = set()
        self._fingerprints: set[str] = set()
        self._sent: set[str] = set()

    def meet(self, found: QuestionResult) -> None:
        """Note which model replied, and what was sent otherwise than asked for."""
        for reply in found.replies:
            if reply.model:
                self._models.add(reply.model)
            if reply.fingerprint:
                self._fingerprints.add(reply.fingerprint)
            if reply.sent:
                self._sent.update(phrases(reply.sent))

    @property
    def met(self) -> dict[str, list[str]]:
        """The models and their fingerprints, as the provider named them, and what was sent otherwise."""
        met = {"models": sorted(self._models), "fingerprints": sorted(self._fingerprints)}
        return {**met, "sent": sorted(self._sent)} if self._sent else met


class UnitResults(Outcome):
    """What judging unit by unit has brought so far; arrays have shape (units, aspects).

    Parameters
    ----------
    value
        From what was read of a reply, and an aspect, to its score.
    samples
        Replies to each question: a score is the mean of those that were read, of which there must be half.
    beside
        From what a question brought to what is kept of it beside the scores: column → value.
    """

    def __init__(
        self,
        units: int,
        aspects: Sequence[str],
        value: Callable[[Mapping[str, Given], str], float],
        samples: int = 1,
        beside: Callable[[QuestionResult], Mapping[str, Given]] = lambda _: {},
    ) -> None:
        super().__init__()
        self._aspects, self._value, self._samples = tuple(aspects), value, samples
        self._beside = beside
        self.kept: dict[str, Any] = {}
        """Column → an array of what is kept beside the scores; NaN, or an empty text, where nothing is."""
        self._waiting: defaultdict[tuple[Any, ...], dict[int, QuestionResult]] = defaultdict(dict)
        shape = (units, len(aspects))
        self.grid = Grid(np.full(shape, np.nan), np.full(shape, CODES[Status.MISSING], np.int8))
        self._costs = np.full((*shape, len(COSTS)), np.nan)
        self._calls = np.full(shape, "", dtype=object)
        self._units: Counter[str] = Counter()  # that a call is about: equal questions are asked once

    def take(self, question: Question, found: QuestionResult) -> None:
        """Note the values of a reply, or why it has none, and its cost, shared by all that it is about."""
        self.meet(found)
        if self._samples > 1:
            place = question.about, question.aspects
            self._waiting[place][question.request.replicate] = found
            if len(self._waiting[place]) < self._samples:
                return
            each = [of for _, of in sorted(self._waiting.pop(place).items())]
            read, found = [of.read for of in each if of.read is not None], _mean(each)
        asked = question.aspects
        first, last = asked[0], asked[-1] + 1
        # A slice is far faster than a list; the aspects of a question are those between two, or one.
        cells = (question.about[0], slice(first, last) if last - first == len(asked) else list(asked))
        self.grid.codes[cells] = CODES[found.status]
        if found.read is not None:
            self.grid.scores[cells] = [self._value(found.read, self._aspects[a]) for a in asked]
            beside: dict[str, Any] = dict(self._beside(found))
            if self._samples > 1:
                values = [[f"{self._value(of, self._aspects[a]):g}" for of in read] for a in asked]
                beside[SAMPLES] = np.array([" ".join(of) for of in values], dtype=object)
            for name, kept in beside.items():
                if name not in self.kept:
                    nothing: tuple[Any, type] = (
                        ("", object) if isinstance(kept, str | np.ndarray) else (np.nan, float)
                    )
                    self.kept[name] = np.full(self._calls.shape, *nothing)
                self.kept[name][cells] = kept
        self._costs[cells] = [spent / len(asked) for spent in found.cost]
        self._calls[cells] = found.call
        self._units[found.call] += 1

    def compared(self, first: IntArray, second: IntArray) -> UnitResults:
        """Return verdicts on pairs of what was rated: 1 for the first, -1 for the second, 0 if equal.

        A pair without a rating has the reason, and the call, of the one that lacks it. What a rating cost is
        shared by its pairs.

        Parameters
        ----------
        first, second
            Positions of the two, a pair per element.
        """
        scores, codes = self.grid.scores, self.grid.codes
        bad, other = codes[first] != OK, codes[second] != OK
        uses = np.bincount(np.concatenate([first, second]), minlength=len(scores))
        share = self._spent / uses[:, None, None]
        calls = [
            np.where(lacks | ~beside, self._calls[at], "")
            for at, lacks, beside in ((first, bad, other), (second, other, bad))
        ]
        found = copy.copy(self)
        found.grid = Grid(np.sign(scores[first] - scores[second]), np.where(bad, codes[first], codes[second]))
        found._costs, found._units = share[first] + share[second], Counter()
        found.kept = {}
        found._calls = _STRIPPED(calls[0] + " " + calls[1])
        return found

    @property
    def _spent(self) -> Any:  # noqa: ANN401 - an array of shape (units, aspects, costs)
        units = np.vectorize(lambda call: self._units[call] or 1, otypes=[float])(self._calls)
        return self._costs / units[..., None]

    @property
    def columns(self) -> dict[str, Any]:
        """The further columns of the scores."""
        spent = self._spent
        costs = {column: spent[..., i] for i, column in enumerate(COSTS)}
        return {**costs, "call": self._calls, **self.kept}
