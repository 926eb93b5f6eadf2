"""A judge that is shown one unit at a time."""

from __future__ import annotations

from abc import abstractmethod
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from metaeval.base.records import ScoreTable, Status
from metaeval.evaluators.grid import CODES, frame_of
from metaeval.judging.model_evaluator import ModelEvaluator, Question
from metaeval.judging.outcome import Judged
from metaeval.judging.settings import current

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from metaeval.base.records import DataOfKind
    from metaeval.evaluators.grid import Grid
    from metaeval.llm.replies.fields import Given

Messages: TypeAlias = "Sequence[tuple[str, str]]"


@dataclass(frozen=True, repr=False)
class UnitJudge(ModelEvaluator):
    """A judge that is shown one unit at a time; a score is what the reply gives of an aspect.

    A subclass says in `fields` what a reply is to give and in `messages` what the model is told. A score is a
    number, or a choice whose values are numbers.
    """

    shares: ClassVar[bool] = False
    """Whether all messages but the last are the same for many units, such as a user's long profile."""

    @abstractmethod
    def messages(
        self,
        data: DataOfKind,
        unit: int,
        aspects: Sequence[str],
        prepared: Any,  # noqa: ANN401 - whatever `prepared` returns
    ) -> Messages | Status:
        """Return role and text of each message about a unit, or why the model is not asked.

        Parameters
        ----------
        data, unit
            The data set, and the position of the unit in it.
        aspects
            Aspects to ask for, in the order of the reply.
        prepared
            What ``prepared`` returned for these data.
        """

    def prepared(self, data: DataOfKind, aspects: Sequence[str]) -> Any:  # noqa: ANN401 - of the subclass
        """Return what is the same for all units; raise `DataError` if the data cannot be judged."""

    def asked(self, data: DataOfKind, prepared: Any) -> Sequence[int]:  # noqa: ANN401 - of the subclass
        """Return the positions of the units to ask about, in this order; the others are ``missing``."""
        del prepared
        return range(len(data))

    def value(self, read: Mapping[str, Given], aspect: str) -> float:
        """Return the score of an aspect from the values of a reply's fields."""
        return float(read[aspect])

    def outcome(self, prepared: Any) -> Mapping[str, Any]:  # noqa: ANN401 - of the subclass
        """Return what the signature says of the scores beside models and their fingerprints."""
        del prepared
        return {}

    def questions(self, data: DataOfKind, aspects: Sequence[str]) -> Iterator[Question]:
        """Yield what is to be asked, unit by unit; nothing is sent."""
        for _unit, told in self._questions(data, aspects, self.prepared(data, aspects)):
            if not isinstance(told, Status):
                yield told

    def grid(self, data: DataOfKind, aspects: Sequence[str]) -> Grid:
        """Ask, and return scores and failures alone."""
        return self._judged(data, aspects, self.prepared(data, aspects)).grid

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
        prepared = self.prepared(data, aspects)
        judged = self._judged(data, aspects, prepared)
        name = str(self.spec)
        frame = frame_of(judged.grid, data, aspects, name)
        for column, values in judged.columns.items():
            frame[column] = values.T.ravel().astype(str if column == "call" else float)
        signature = {**self.signature(data), **self.outcome(prepared), **judged.met}
        return ScoreTable(frame, {name: signature}, {name: self.kind})

    def _questions(
        self,
        data: DataOfKind,
        aspects: Sequence[str],
        prepared: Any,  # noqa: ANN401 - of the subclass
    ) -> Iterator[tuple[int, Question | Status]]:
        """Yield the questions about each unit, or why there are none."""
        frames = self.frames(data, aspects)
        named = {part: [aspects[a] for a in part] for part in frames}
        for unit in self.asked(data, prepared):
            for part, (fields, request) in frames.items():
                told = self.messages(data, unit, named[part], prepared)
                if isinstance(told, Status):
                    yield unit, told
                    break
                yield unit, Question((unit,), part, fields, request.asking(told, shares=self.shares))

    def _judged(
        self,
        data: DataOfKind,
        aspects: Sequence[str],
        prepared: Any,  # noqa: ANN401 - of the subclass
    ) -> Judged:
        judged = Judged(len(data), aspects, self.value)

        def questions() -> Iterator[Question]:
            for unit, told in self._questions(data, aspects, prepared):
                if isinstance(told, Status):
                    judged.grid.codes[unit] = CODES[told]
                else:
                    yield told

        total = len(self.asked(data, prepared)) * len(self.parts(aspects))
        with current() as settings, closing(self.ask(questions(), settings, total=total)) as answers:
            for question, found in answers:
                judged.take(question, found)
        return judged
