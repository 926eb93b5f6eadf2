"""Judges that are shown one unit at a time."""

from __future__ import annotations

import functools
from contextlib import closing
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from metaeval.base.errors import SpecError
from metaeval.base.records import SHARE, ScoreTable, Status
from metaeval.evaluators.base import flag, integer, texts
from metaeval.evaluators.grid import CODES, frame_of
from metaeval.judging.expectation import expectation
from metaeval.judging.model_evaluator import ModelEvaluator
from metaeval.judging.outcome import Question, UnitResults
from metaeval.judging.reading import read_answer
from metaeval.judging.settings import current
from metaeval.llm.prompts.template import load_prompt
from metaeval.llm.providers import provider_named
from metaeval.llm.providers.answers import places_in
from metaeval.llm.replies.fields import Number
from metaeval.llm.replies.reader import Parsed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from metaeval.base.records import DataOfKind
    from metaeval.evaluators.grid import Grid
    from metaeval.judging.outcome import QuestionResult
    from metaeval.judging.prompts import JudgePrompt
    from metaeval.llm.calls.request import Reply, Request
    from metaeval.llm.replies.fields import Given

Messages: TypeAlias = "Sequence[tuple[str, str]]"
CRITERION = "criterion: "
"""Begins the name of a column of scores that has what a judge said of a part of the whole."""
_PROBABILITY = "the probability of the score"
"""What is read of the probabilities beside the field; no aspect is called so."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Shown:
    """What a judge is told of the units of a data set.

    Parameters
    ----------
    own
        From the position of a unit, and the aspects that are asked for, to the values of placeholders that
        are its own, or why the model is not asked.
    groups
        What each unit shares with others, such as its user.
    shared
        From one of these to the values of the placeholders that its units share; None: nothing is known, so
        that the model is not asked.
    order
        The positions of the units to ask about, in this order; the others are ``missing``. None: all.
    repeats
        How often what is asked about each unit was asked before: it is asked again then.
    facts
        What the signature says of the scores beside models and their fingerprints.
    """

    own: Callable[[int, Sequence[str]], Mapping[str, object] | Status] = lambda unit, aspects: {}
    groups: Sequence[Any] = ()
    shared: Callable[[Any], Mapping[str, object] | None] = lambda group: {}
    order: Sequence[int] | None = None
    repeats: Sequence[int] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    prompts: dict[tuple[str, ...], JudgePrompt] = field(default_factory=dict, init=False)
    """Those that are filled, by the aspects that they ask for."""

    def units(self, data: DataOfKind) -> Sequence[int]:
        """Return the positions of the units to ask about."""
        return range(len(data)) if self.order is None else self.order


@dataclass(frozen=True, repr=False)
class UnitJudge(ModelEvaluator):
    """A judge that is shown one unit at a time; the reply gives one score per aspect.

    A subclass says in ``reply_fields`` what a reply is to give, and in `shown` what the model is told of each
    unit, or in `messages`, if its words are in its code. A score is a number, or a choice whose values are
    numbers.

    Parameters
    ----------
    samples
        Number of repetitions of each question, at a temperature above 0: a score is the mean of those that
        could be read. If fewer than half could, or a reply is still to come, there is none.
    expected
        Whether a score is the expectation over the probabilities that the server tells of the tokens of the
        number (G-Eval, Liu et al. 2023). The prompt asks for one aspect per call.
    """

    _: KW_ONLY
    samples: int = integer(1, 1)
    expected: bool = flag()

    def __post_init__(self) -> None:
        """Raise `MetaevalError` for an argument that cannot be used."""
        super().__post_init__()
        name = type(self).__name__
        if self.samples > 1 and self.temperature == 0:
            raise SpecError(
                f"{name}: samples={self.samples} asks the same again, and temperature is 0; write one above "
                f"0, such as temperature=1"
            )
        if self.expected and "aspect" not in (load_prompt(self.prompt).placeholders if self.prompt else ()):
            raise SpecError(
                f"{name}: expected=True weighs one number per reply, and prompt {self.prompt!r} asks for all "
                f"aspects at once; take one that asks for one aspect per call, such as 'single-aspect'"
            )

    @property
    def parameters(self) -> dict[str, Any]:
        """What is sent beside the messages; with ``expected``, for probabilities too."""
        asked = {"logprobs": True, "top_logprobs": provider_named(self.provider).top_logprobs}
        return {**(asked if self.expected else {}), **super().parameters}

    @property
    def stated(self) -> frozenset[str]:
        """Names of the settings that the user wrote; probabilities are stated by ``expected``."""
        return super().stated | ({"logprobs", "top_logprobs"} if self.expected else set())

    def weighed(self, question: Question, reply: Reply, parsed: Parsed) -> Parsed:
        """Return the expectation instead of the number that was read; with ``expected`` alone."""
        if not self.expected or parsed.values is None:
            return parsed
        field = question.fields[0]
        if not isinstance(field, Number):
            return Parsed(None, Status.UNWEIGHED, f"{field.name!r} is not a number on a scale")

        def read(text: str) -> Given | None:
            other = read_answer(question, reply._replace(text=text), self.reply, self.pattern)
            return (other.values or {}).get(field.name)

        value = float(parsed.values[field.name])
        mean = expectation(reply.text, value, field.scale, places_in(reply.raw), read)
        if isinstance(mean, str):
            return Parsed(None, Status.UNWEIGHED, mean)
        scale = field.scale
        shares = zip(scale.share_columns, map(mean.shares.get, scale.steps), strict=True)
        weighed = {
            field.name: mean.value,
            _PROBABILITY: mean.confidence,
            **{column: share or 0.0 for column, share in shares},
        }
        return replace(parsed, values={**parsed.values, **weighed})

    def shown(self, data: DataOfKind, aspects: Sequence[str]) -> Shown:
        """Return what the judge is told of each unit; raise `DataError` if the data cannot be judged."""
        del data, aspects
        return Shown()

    def messages(
        self, data: DataOfKind, unit: int, aspects: Sequence[str], shown: Shown
    ) -> Messages | Status:
        """Return role and text of each message about a unit, or why the model is not asked.

        A judge with its words in its code says them here; any other fills its prompt.

        Parameters
        ----------
        data, unit
            The data set, and the position of the unit in it.
        aspects
            Aspects to ask for, in the order of the reply.
        shown
            What `shown` returned for these data.
        """
        asked = tuple(aspects)
        if asked not in shown.prompts:
            shown.prompts[asked] = self.filled(data, asked, shown.shared)
        own = shown.own(unit, asked)
        if isinstance(own, Status):
            return own
        group = shown.groups[unit] if shown.groups else None
        return shown.prompts[asked].messages(own, group) or Status.MISSING

    def value(self, read: Mapping[str, Given], aspect: str) -> float:
        """Return the score of an aspect from the values of a reply's fields."""
        return float(read[aspect])

    def beside(self, found: QuestionResult) -> Mapping[str, Given]:
        """Return what is kept of what a question brought beside the scores: column → number or text.

        With ``expected``, that is ``confidence``: the probability of the score, among those of the scale;
        and the probability of each value.
        """
        read = found.read or {}
        if _PROBABILITY not in read:
            return {}
        shares = {name: value for name, value in read.items() if name.startswith(SHARE)}
        return {"confidence": read[_PROBABILITY], **shares}

    def questions(self, data: DataOfKind, aspects: Sequence[str]) -> Iterator[Question]:
        """Yield what is to be asked, unit by unit; nothing is sent."""
        for _unit, told in self._questions(data, aspects, self.shown(data, aspects)):
            if not isinstance(told, Status):
                yield told

    def grid(self, data: DataOfKind, aspects: Sequence[str]) -> Grid:
        """Ask, and return scores and failures alone."""
        return self.results(data, aspects, self.shown(data, aspects)).grid

    def score(self, data: DataOfKind, aspects: Sequence[str]) -> ScoreTable:
        """Ask the model about every unit, and return its ratings, or why there is none.

        The table has the further columns ``tokens``, ``usd`` and ``seconds`` (of the call, all attempts
        together, divided by the aspects that it rates; NaN where unknown) and ``call``, the key of the last
        reply in the store.

        Raises
        ------
        DataError, PromptError, MetaevalError
            If the data, the prompt or the model cannot be used.
        StoppedError
            If a model answers no call at all, or it was interrupted.
        """
        shown = self.shown(data, aspects)
        results = self.results(data, aspects, shown)
        name = str(self.spec)
        frame = frame_of(results.grid, data, aspects, name)
        for column, values in results.columns.items():
            frame[column] = values.T.ravel().astype(str if values.dtype == object else float)
        signature = {**self.signature(data), **shown.facts, **results.met}
        return ScoreTable(frame, {name: signature}, {name: self.kind})

    def _questions(
        self, data: DataOfKind, aspects: Sequence[str], shown: Shown
    ) -> Iterator[tuple[int, Question | Status]]:
        """Yield the questions about each unit, or why there are none."""
        bare = self.bare_requests(data, aspects)
        named = {part: [aspects[a] for a in part] for part in bare}

        @functools.cache
        def requests_of(part: tuple[int, ...], repeat: int) -> list[Request]:
            first = (self.replicate + repeat) * self.samples
            return [replace(bare[part][1], replicate=first + i) for i in range(self.samples)]

        for unit in shown.units(data):
            repeat = shown.repeats[unit] if shown.repeats else 0
            for part, (fields, _) in bare.items():
                told = self.messages(data, unit, named[part], shown)
                if isinstance(told, Status):
                    yield unit, told
                    break
                for request in requests_of(part, repeat):
                    sent = request.asking(told, shares=bool(self.asks.shared))
                    yield unit, Question((unit,), part, fields, sent)

    def results(
        self, data: DataOfKind, aspects: Sequence[str], shown: Shown, units: int | None = None
    ) -> UnitResults:
        """Ask, and return what came of it, for each unit; or for so many things that are no units."""
        n = len(data) if units is None else units
        results = UnitResults(n, aspects, self.value, self.samples, self.beside)

        def questions() -> Iterator[Question]:
            for unit, told in self._questions(data, aspects, shown):
                if isinstance(told, Status):
                    results.grid.codes[unit] = CODES[told]
                else:
                    yield told

        total = len(shown.units(data)) * len(self.parts(data, aspects)) * self.samples
        with current() as settings, closing(self.ask(questions(), settings, total=total)) as answers:
            for question, found in answers:
                results.take(question, found)
        return results


@dataclass(frozen=True, repr=False)
class HistoryJudge(UnitJudge):
    """A judge that is told a user's history, in first messages that many calls share.

    Parameters
    ----------
    fields
        What is told of items, those of the history too; all that the data set has, if empty.
    history
        How many items of the user's history are shown at most, the last ones by their time.
    """

    _: KW_ONLY
    fields: Sequence[str] = texts("['title', 'genres']")
    history: int = integer(10, 0)
