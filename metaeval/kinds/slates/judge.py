"""Language models that say which of two slates a user would prefer, or rate single slates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import pandas as pd

from metaeval.base.errors import SpecError
from metaeval.base.records import FIRST, SECOND, Scale
from metaeval.evaluators.base import argument, flag, integer
from metaeval.evaluators.grid import IntArray
from metaeval.judging.outcome import UnitResults
from metaeval.judging.prompts import Asks
from metaeval.judging.unit_judge import HistoryJudge, Shown
from metaeval.kinds.known_items import (
    USER_SAMPLE,
    items_or_names,
    lines_of,
    recent_histories,
    user_profiles,
)
from metaeval.kinds.slates.data.slate_set import (
    ANY,
    BOTH,
    ITEM,
    ORDER,
    ORDERING,
    POSITION,
    SET,
    SLATE,
    USER,
    SlateSet,
)
from metaeval.llm.replies.fields import Choice, Field, Given, Number, Text

REASON = "reason"
RATING = "rating"
_WORDS: Mapping[Given, Sequence[str]] = {0.0: ("TIE",), 1.0: ("A", "list A"), -1.0: ("B", "list B")}
"""Score → what a reply says. Letters: digits would be read as numbers, of which a reason may name others."""
_ALIASES = ("preferred", "verdict", "choice", "winner", "better", "answer")
_OF_DOMAIN = ("platform", "noun", "plural", "popularity", "diversity")
TAGS: Mapping[str, str] = {"first_tag": "list-a", "second_tag": "list-b"}
_COMMON: Mapping[str, object] = {
    "task": (SET, ORDERING, BOTH),
    **{name: getattr(ANY, name) for name in (*_OF_DOMAIN, "liked")},
    "scale_min": "1",
    "scale_max": "5",
    "reason_words": "30",
    "reply_form": "json",
    **USER_SAMPLE,
}
"""Of the prompts. ``task`` is ``T1`` (a set), ``T2`` (an order) or ``T3`` (both). ``platform`` to
``diversity`` are the words of the domain; ``liked`` is what the number in a history is, from ``scale_min`` to
``scale_max``, None if there is none. ``reason_words`` says how long a reason may be, None if none is asked
for. That of a duel has ``first`` and ``second``, the slates, a line per item, to be shown between
``first_tag`` and ``second_tag``; ``tie`` says whether a tie is allowed. That of a ``slate`` has the ends of
the ratings."""
_OPTIONAL = ("liked", "scale_min", "scale_max", "reason_words", "profile", "history")


def _asks(noun: str, own: Mapping[str, object], fixed: Mapping[str, object]) -> Asks:
    return Asks(
        sample={**_COMMON, **fixed, **own},
        optional=_OPTIONAL,
        needed=("task", "plural", "history", *own),
        noun=noun,
        own=tuple(own),
        shared=("history", "profile"),
    )


@dataclass(frozen=True, repr=False)
class SlateJudge(HistoryJudge):
    """What judges of duels and of single slates share.

    Parameters
    ----------
    fields, history
        As for `metaeval.judging.unit_judge.HistoryJudge`.
    reason
        How many words a reason may have, which follows the answer; 0 asks for none.
    """

    _: KW_ONLY
    reason: int = integer(30, 0)

    def __post_init__(self) -> None:
        """Raise `MetaevalError` for an argument that cannot be used."""
        if self.expected:
            name = type(self).__name__
            raise SpecError(f"{name}: expected=True is for judges of one aspect per call; leave it out")
        super().__post_init__()

    def with_reason(self, field: Field) -> list[Field]:
        """Return what a reply gives: a field, and a reason for it if it is asked for."""
        return [field, Text(REASON, required=False)] if self.reason else [field]

    def fixed(self, data: SlateSet, aspects: Sequence[str]) -> Mapping[str, object]:
        """Return the words of the domain, what the numbers in histories are, and how long a reason may be."""
        del aspects
        words = {name: getattr(data.domain, name) for name in _OF_DOMAIN}
        return {**words, **_liked(data), "reason_words": str(self.reason) if self.reason else None}

    def shown_slates(
        self,
        data: SlateSet,
        tasks: Sequence[tuple[str, str]],
        slates: Sequence[tuple[str, ...]],
        **more: Any,  # noqa: ANN401 - of `Shown`
    ) -> Shown:
        """Return what is told of slates, each with its items on lines; `DataError` if nothing is known.

        Parameters
        ----------
        tasks
            User and task, a pair for each that is asked about.
        slates
            Names of the slates of each, in the order of the placeholders of ``asks.own``.
        **more
            Of `Shown`.
        """
        items = items_or_names(data, self.fields, data.slates, data.domain.noun)
        past = pd.DataFrame({USER: [], ITEM: []}, dtype=str)
        if data.histories is not None:
            past = recent_histories(data, data.slates)
        known_of = user_profiles(data, items, past, history=self.history).of
        lines = lines_of(items)
        listed = data.slates.sort_values(POSITION, kind="stable")
        of_slate = {key: own.tolist() for key, own in listed.groupby([USER, SLATE], sort=False)[ITEM]}

        def text(user: str, slate: str, task: str) -> str:
            """Return a line per item: numbered, or of a set in an order that says nothing."""
            shown = [lines[item] for item in of_slate[user, slate]]
            if task == SET:
                return "\n".join(f"- {line}" for line in sorted(shown))
            return "\n".join(f"{place}. {line}" for place, line in enumerate(shown, 1))

        def own(unit: int, _: Sequence[str]) -> Mapping[str, object]:
            user, task = tasks[unit]
            texts = [text(user, slate, task) for slate in slates[unit]]
            return {"task": task, **dict(zip(self.asks.own, texts, strict=True))}

        def shared(of: tuple[str, str]) -> Mapping[str, object] | None:
            known = known_of(of[0])
            return None if known is None else {"task": of[1], **known}

        return Shown(own=own, groups=tasks, shared=shared, **more)


@dataclass(frozen=True, repr=False)
class Slates(SlateJudge):
    """A language model that compares two slates, and says which one a user would prefer.

    The score is 1 for the slate that is shown first, -1 for the other one, 0 for a tie. Each duel is a unit
    in both orders. A duel that repeats an earlier one of the user is asked as a repetition, so that no reply
    is taken from the store twice. A reply that is not complete and valid is a typed failure.

    What is the same for all duels of a user and task comes first, in messages of its own, so that a
    provider's cache holds it. An item of a slate is left out of the user's history. A user of whom nothing
    is known is not asked about.

    Parameters
    ----------
    tie
        Whether the model may say that it would be all the same to the user.
    model, prompt, temperature, replicate, reply, base_url, attempts, max_tokens, seed
        As for `metaeval.judging.model_evaluator.ModelEvaluator`.
    samples
        As for `metaeval.judging.unit_judge.UnitJudge`: the score is then a mean of verdicts.
    fields, history, reason
        As for `SlateJudge`.
    """

    prompt: str = "slates"
    _: KW_ONLY
    tie: bool = flag()
    asks: ClassVar[Asks] = _asks(
        "duel", {"first": "1. title: A", "second": "1. title: B"}, {**TAGS, "tie": (True, False)}
    )

    def reply_fields(self, data: SlateSet, aspects: Sequence[str]) -> list[Field]:
        """Return the verdict, in letters, and a reason."""
        del data
        words = {score: said for score, said in _WORDS.items() if self.tie or score}
        return self.with_reason(Choice(aspects[0], words, _ALIASES))

    @property
    def simulation(self) -> Mapping[str, object]:
        """A simulated model prefers what is more like the history."""
        return {"like": "lines", "pair": True, "forced": not self.tie}

    def fixed(self, data: SlateSet, aspects: Sequence[str]) -> Mapping[str, object]:
        """Return what is the same for all duels."""
        return {**super().fixed(data, aspects), **TAGS, "tie": self.tie}

    def shown(self, data: SlateSet, aspects: Sequence[str]) -> Shown:
        """Return the slates of each duel, and the order of asking: those of a user and task together."""
        del aspects
        units = data.table
        groups = units.groupby([USER, "task"], sort=False).indices.values()
        # Both orders of a slate and itself are the same question: the second one repeats it.
        again = (units[FIRST] == units[SECOND]).astype(int)
        repeats = units["repeat"] * (1 + again) + again * (units[ORDER] == SECOND)
        return self.shown_slates(
            data,
            [*units[[USER, "task"]].itertuples(index=False, name=None)],
            [*units[[FIRST, SECOND]].itertuples(index=False, name=None)],
            order=[int(unit) for group in groups for unit in group],
            repeats=repeats.tolist(),
        )


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
    model, prompt, temperature, replicate, reply, base_url, attempts, max_tokens, seed
        As for `metaeval.judging.model_evaluator.ModelEvaluator`.
    samples
        As for `metaeval.judging.unit_judge.UnitJudge`: a rating is then a mean.
    fields, history, reason
        As for `SlateJudge`.
    """

    prompt: str = "slate-rating"
    _: KW_ONLY
    scale: Sequence[int] = argument(
        (1, 10),
        (
            lambda given: _is_scale(given),  # noqa: PLW0108 - defined below
            " is the lowest and the highest rating, (1, 10), not {value!r}",
        ),
    )
    asks: ClassVar[Asks] = _asks("slate", {"slate": "1. title: A"}, {"rating_min": "1", "rating_max": "10"})

    def reply_fields(self, data: SlateSet, aspects: Sequence[str]) -> list[Field]:
        """Return the rating and a reason."""
        del data, aspects
        return self.with_reason(Number(RATING, Scale(self.scale[0], self.scale[1]), ("score", "answer")))

    def value(self, read: Mapping[str, Given], aspect: str) -> float:
        """Return the rating."""
        del aspect
        return float(read[RATING])

    @property
    def simulation(self) -> Mapping[str, object]:
        """A simulated model likes what is like the history."""
        return {"like": "lines"}

    def fixed(self, data: SlateSet, aspects: Sequence[str]) -> Mapping[str, object]:
        """Return what is the same for all slates."""
        low, high = map(str, self.scale)
        return {**super().fixed(data, aspects), "rating_min": low, "rating_max": high}

    def shown(self, data: SlateSet, aspects: Sequence[str]) -> Shown:
        """Return the slates, which are no units; those of a user and task are asked about together."""
        del aspects
        slates, _ = _slates_of(data)
        order = sorted(range(len(slates)), key=lambda at: slates[at][:2])
        return self.shown_slates(data, [of[:2] for of in slates], [of[2:] for of in slates], order=order)

    def results(
        self, data: SlateSet, aspects: Sequence[str], shown: Shown, units: int | None = None
    ) -> UnitResults:
        """Have the slates rated, and compare the ratings of each duel."""
        first, second = _slates_of(data)[1]
        return super().results(data, aspects, shown, len(shown.groups)).compared(first, second)


def _is_scale(scale: object) -> bool:
    match scale:
        case (int(low), int(high)):
            return low < high and not {bool} & {type(low), type(high)}
    return False


def _slates_of(data: SlateSet) -> tuple[list[tuple[str, str, str]], IntArray]:
    """Return user, task and name of each slate, and the positions of those of each unit, shape (2, units)."""
    names = [USER, "task", SLATE]
    sides = [data.table[[USER, "task", side]].set_axis(names, axis=1) for side in (FIRST, SECOND)]
    numbers, slates = pd.MultiIndex.from_frame(pd.concat(sides)).factorize()
    return list(slates), numbers.reshape(2, -1)


def _liked(data: SlateSet) -> dict[str, str]:
    """Return what the numbers in histories are, and the ends of their scale; empty without numbers."""
    if data.histories is None or "rating" not in data.histories or data.histories["rating"].isna().all():
        return {}
    known, scale = data.histories["rating"], data.history_scale
    low, high = (known.min(), known.max()) if scale is None else (scale.min, scale.max)
    return {"liked": data.domain.liked, "scale_min": f"{low:g}", "scale_max": f"{high:g}"}
