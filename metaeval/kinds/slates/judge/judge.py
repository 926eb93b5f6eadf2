"""A language model that says which of two slates a user would prefer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, NamedTuple

from metaeval.base.errors import SpecError
from metaeval.base.records import FIRST, SECOND, Status
from metaeval.evaluators.base import check_flag, check_integer
from metaeval.judging.prompts import Parts
from metaeval.judging.unit_judge import HistoryJudge
from metaeval.kinds.slates.data.slate_set import ORDER, USER, SlateSet
from metaeval.kinds.slates.judge.prompt import DUEL, PLACEHOLDERS, TAGS, SlatePrompt
from metaeval.llm.calls.request import Request
from metaeval.llm.prompts.template import load_prompt
from metaeval.llm.replies.fields import Choice, Field, Given, Text

REASON = "reason"
_WORDS: Mapping[Given, Sequence[str]] = {0.0: ("TIE",), 1.0: ("A", "list A"), -1.0: ("B", "list B")}
"""Score → what a reply says. Letters: digits would be read as numbers, of which a reason may name others."""
_ALIASES = ("preferred", "verdict", "choice", "winner", "better", "answer")


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
    reason: int = 30

    def __post_init__(self) -> None:
        super().__post_init__()
        check_integer(type(self).__name__, "reason", self.reason, 0)

    def check_settings(self) -> None:
        """Raise `MetaevalError` for a setting that cannot be used."""
        if self.expected:
            name = type(self).__name__
            raise SpecError(f"{name}: expected=True is for judges of one aspect per call; leave it out")
        super().check_settings()

    def signature(self, data: SlateSet) -> Mapping[str, Any]:
        """Return the judge's settings, and how long a reason may be."""
        return {**super().signature(data), "reason": self.reason}

    def with_reason(self, field: Field) -> list[Field]:
        """Return what a reply gives: a field, and a reason for it if it is asked for."""
        return [field, Text(REASON, required=False)] if self.reason else [field]

    def prompt_for(self, data: SlateSet, parts: Parts, known: Sequence[str], **fixed: object) -> SlatePrompt:
        """Return the prompt for a data set; ``parts``, ``known``, ``fixed``: see `SlatePrompt`."""
        return SlatePrompt(
            data,
            load_prompt(self.prompt),
            parts,
            known=known,
            reply=self.reply,
            fields=self.fields,
            history=self.history,
            fixed={"reason_words": str(self.reason) if self.reason else None, **fixed},
        )


class _Prepared(NamedTuple):
    """What is the same for all units."""

    asked: Sequence[int]
    shown: Sequence[tuple[str, str, str, str]]
    """User, task, and the slates as they are shown."""
    repeats: Sequence[int]
    prompt: SlatePrompt


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
    model, prompt, temperature, replicate, reply, template, base_url, attempts, max_tokens, seed
        As for `metaeval.judging.model_evaluator.ModelEvaluator`.
    samples
        As for `metaeval.judging.unit_judge.UnitJudge`: the score is then a mean of verdicts.
    fields, history, reason
        As for `SlateJudge`.
    """

    prompt: str = "slates"
    _: KW_ONLY
    tie: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_flag("Slates", "tie", self.tie)

    def signature(self, data: SlateSet) -> Mapping[str, Any]:
        """Return the judge's settings, what it is told, and whether it may say that it is a tie."""
        return {**super().signature(data), "tie": self.tie}

    def reply_fields(self, data: SlateSet, aspects: Sequence[str]) -> list[Field]:
        """Return the verdict, in letters, and a reason."""
        del data
        words = {score: said for score, said in _WORDS.items() if self.tie or score}
        return self.with_reason(Choice(aspects[0], words, _ALIASES))

    def frames(
        self, data: SlateSet, aspects: Sequence[str], **simulate: object
    ) -> dict[tuple[int, ...], tuple[Sequence[Field], Request]]:
        """Return the fields, and a request; a simulated model prefers what is more like the history."""
        return super().frames(data, aspects, like="lines", pair=True, forced=not self.tie, **simulate)

    def prepared(self, data: SlateSet, aspects: Sequence[str]) -> _Prepared:
        """Return texts and order; raise `DataError` if the data have not what is to be shown."""
        columns = data.table[[USER, "task", FIRST, SECOND]].to_numpy().tolist()
        groups = data.table.groupby([USER, "task"], sort=False).indices.values()
        # Both orders of a slate and itself are the same question: the second one repeats it.
        again = (data.table[FIRST] == data.table[SECOND]).astype(int)
        repeats = data.table["repeat"] * (1 + again) + again * (data.table[ORDER] == SECOND)
        return _Prepared(
            [int(unit) for of in groups for unit in of],
            [(user, task, first, second) for user, task, first, second in columns],
            repeats.tolist(),
            self.prompt_for(data, DUEL, PLACEHOLDERS, tie=self.tie, **TAGS),
        )

    def units_to_ask(self, data: SlateSet, prepared: _Prepared) -> Sequence[int]:
        """Return all units, those of a user and task one after the other."""
        return prepared.asked

    def repeat_of(self, unit: int, prepared: _Prepared) -> int:
        """Return how often the same was asked before."""
        return prepared.repeats[unit]

    def messages(
        self, data: SlateSet, unit: int, aspects: Sequence[str], prepared: _Prepared
    ) -> list[tuple[str, str]] | Status:
        """Return what the model is told; where nothing is known of the user, it is not asked."""
        user, task, first, second = prepared.shown[unit]
        return prepared.prompt.messages(user, task, first=first, second=second) or Status.MISSING
