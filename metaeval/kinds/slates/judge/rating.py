"""A language model that rates single slates; which of two a user would prefer follows from their ratings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, NamedTuple

from metaeval.base.errors import SpecError
from metaeval.base.records import FIRST, SECOND, Scale, Status
from metaeval.evaluators.grid import IntArray
from metaeval.judging.outcome import UnitResults
from metaeval.kinds.slates.data.slate_set import SLATE, USER, SlateSet
from metaeval.kinds.slates.judge.judge import SlateJudge
from metaeval.kinds.slates.judge.prompt import RATED, RATING_PLACEHOLDERS, SlatePrompt
from metaeval.llm.calls.request import Request
from metaeval.llm.replies.fields import Field, Given, Number

RATING = "rating"
_ALIASES = ("score", "answer")


class _Prepared(NamedTuple):
    """What is the same for all units."""

    slates: Sequence[tuple[str, str, str]]
    """User, task and slate: each is rated once."""
    first: IntArray
    """Of each unit the slate that is shown first, by its position in ``slates``."""
    second: IntArray
    prompt: SlatePrompt


@dataclass(frozen=True, repr=False)
class SlateRating(SlateJudge):
    """A language model that rates every slate by itself, once per user and task.

    The score of a duel is 1 if the slate that is shown first has the higher rating, -1 if the other one has,
    0 if both have the same. It has none if one of them has no rating. The cost of a rating is shared by the
    duels of the slate.

    Parameters
    ----------
    scale
        Lowest and highest rating, whole numbers.
    model, prompt, temperature, replicate, reply, template, base_url, attempts, max_tokens, seed
        As for `metaeval.judging.model_evaluator.ModelEvaluator`.
    samples
        As for `metaeval.judging.unit_judge.UnitJudge`: a rating is then a mean.
    fields, history, reason
        As for `SlateJudge`.
    """

    prompt: str = "slate-rating"
    _: KW_ONLY
    scale: Sequence[int] = (1, 10)

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.scale, list):
            object.__setattr__(self, "scale", tuple(self.scale))  # as a spec has it
        match self.scale:
            case (int(low), int(high)) if low < high and not {bool} & {type(low), type(high)}:
                return
        raise SpecError(
            f"SlateRating: scale is the lowest and the highest rating, (1, 10), not {self.scale!r}"
        )

    def signature(self, data: SlateSet) -> Mapping[str, Any]:
        """Return the judge's settings, what it is told, and the scale."""
        return {**super().signature(data), "scale": list(self.scale)}

    def reply_fields(self, data: SlateSet, aspects: Sequence[str]) -> list[Field]:
        """Return the rating and a reason."""
        del data, aspects
        return self.with_reason(Number(RATING, Scale(self.scale[0], self.scale[1]), _ALIASES))

    def value(self, read: Mapping[str, Given], aspect: str) -> float:
        """Return the rating."""
        del aspect
        return float(read[RATING])

    def frames(
        self, data: SlateSet, aspects: Sequence[str], **simulate: object
    ) -> dict[tuple[int, ...], tuple[Sequence[Field], Request]]:
        """Return the fields, and a request; a simulated model likes what is like the history."""
        return super().frames(data, aspects, like="lines", **simulate)

    def prepared(self, data: SlateSet, aspects: Sequence[str]) -> _Prepared:
        """Return the slates and their texts; raise `DataError` if the data have not what is to be shown."""
        import pandas as pd

        names = [USER, "task", SLATE]
        sides = [data.table[[USER, "task", side]].set_axis(names, axis=1) for side in (FIRST, SECOND)]
        numbers, slates = pd.MultiIndex.from_frame(pd.concat(sides)).factorize()
        first, second = numbers.reshape(2, -1)
        low, high = map(str, self.scale)
        prompt = self.prompt_for(data, RATED, RATING_PLACEHOLDERS, rating_min=low, rating_max=high)
        return _Prepared(list(slates), first, second, prompt)

    def units_to_ask(self, data: SlateSet, prepared: _Prepared) -> Sequence[int]:
        """Return all slates, those of a user and task one after the other."""
        return sorted(range(len(prepared.slates)), key=lambda slate: prepared.slates[slate][:2])

    def messages(
        self, data: SlateSet, unit: int, aspects: Sequence[str], prepared: _Prepared
    ) -> list[tuple[str, str]] | Status:
        """Return what the model is told of a slate; where nothing is known of the user, it is not asked."""
        user, task, slate = prepared.slates[unit]
        return prepared.prompt.messages(user, task, slate=slate) or Status.MISSING

    def results(
        self, data: SlateSet, aspects: Sequence[str], prepared: _Prepared, units: int | None = None
    ) -> UnitResults:
        """Have the slates rated, and compare the ratings of each duel."""
        rated = super().results(data, aspects, prepared, len(prepared.slates))
        return rated.compared(prepared.first, prepared.second)
