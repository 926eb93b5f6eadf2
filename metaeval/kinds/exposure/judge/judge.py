"""A language model that says which of two matched items a user prefers, and quotes its evidence."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from metaeval.base.records import FIRST, SECOND, Scale, Status
from metaeval.evaluators.arguments import check_flag
from metaeval.evaluators.grid import CODES
from metaeval.judging.history_judge import HistoryJudge
from metaeval.kinds.exposure.data.log_set import MATCHING, USER
from metaeval.kinds.exposure.judge.prompt import TAGS, PairPrompt
from metaeval.llm.prompts.template import load_prompt
from metaeval.llm.replies.fields import Choice, Number, Text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from metaeval.judging.outcome import Answered, Judged
    from metaeval.kinds.exposure.data.log_set import LogSet
    from metaeval.llm.calls.request import Request
    from metaeval.llm.replies.fields import Field, Given

WINNER, CONFIDENCE, RATIONALES = "winner", "confidence", "rationales"
DISCARD, WEIGHT, IGNORE = EVIDENCE_RULES = ("discard", "weight", "ignore")
"""What is done with a verdict of which some evidence is invented."""
EVIDENCE, INVENTED = "evidence", "invented"
"""Columns of the scores: the share of a verdict's evidence that was found, and what was not, a line each."""
_WORDS: Mapping[Given, Sequence[str]] = {0.0: ("TIE",), 1.0: ("A",), -1.0: ("B",)}
"""Score → what a reply says. Letters: digits would be read as numbers, of which a reason may name others."""


class _Prepared(NamedTuple):
    """What is the same for all units."""

    asked: Sequence[int]
    shown: Sequence[tuple[str, str, str]]
    """User, and the items as they are shown."""
    prompts: Sequence[PairPrompt]
    """Of each unit: pairs that are matched otherwise leave other items out of the history."""


@dataclass(frozen=True, repr=False)
class MatchedPairs(HistoryJudge):
    """A language model that compares two items: which one the user prefers, how sure it is, and why.

    The score is 1 for the item that is shown first, -1 for the other one, 0 for a tie. Each pair is a unit in
    both orders. Every rationale quotes evidence, which must stand word for word in what the prompt shows of
    user or items (see ``metaeval.llm.replies.evidence``), never in its instructions. A reply without a
    rationale is of no use, and is asked for again; one with invented evidence is not.

    What is the same for all pairs of a user comes first, in messages of its own, so that a provider's cache
    holds it. The items of a user's pairs are left out of the history. A user of whom nothing is known is not
    asked about.

    Parameters
    ----------
    evidence
        What is done with a verdict of which some evidence is invented. ``discard``: it has the status
        ``invented`` and no score; ``weight``: it counts by the share of its evidence that was found;
        ``ignore``: it counts as any other. A study's ``evidence`` is that of all its judges that say nothing.
    tie
        Whether the model may say that it would be all the same to the user.
    model, prompt, temperature, replicate, reply, template, base_url, attempts, max_tokens, seed
        As for `metaeval.judging.model_evaluator.ModelEvaluator`.
    samples
        As for `metaeval.judging.unit_judge.UnitJudge`: the score is then a mean of verdicts, and the evidence
        is that of all.
    fields, history
        As for `metaeval.judging.history_judge.HistoryJudge`.
    """

    prompt: str = "pairs-of-items"
    _: KW_ONLY
    evidence: str = DISCARD
    tie: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_word("evidence", EVIDENCE_RULES)
        check_flag("MatchedPairs", "tie", self.tie)

    def signature(self, data: LogSet) -> Mapping[str, Any]:
        """Return the judge's settings, what it is told, and what invented evidence does to a verdict."""
        return {**super().signature(data), "evidence": self.evidence, "tie": self.tie}

    def reply_fields(self, data: LogSet, aspects: Sequence[str]) -> list[Field]:
        """Return the winner, how sure the model is, and rationales with evidence."""
        del data, aspects
        words = {score: said for score, said in _WORDS.items() if self.tie or score}
        return [
            Choice(WINNER, words, ("preference", "preferred", "verdict", "choice", "answer")),
            Number(CONFIDENCE, Scale(0, 1, integer=False), ("certainty",)),
            Text(RATIONALES, tuple(TAGS.values()), ("rationale", "evidence"), binding=False, many=True),
        ]

    def value(self, read: Mapping[str, Given], aspect: str) -> float:
        """Return the verdict."""
        del aspect
        return float(read[WINNER])

    def beside(self, found: Answered) -> Mapping[str, Given]:
        """Return how sure the model is, the share of its evidence that was found, and what was not."""
        if found.read is None:
            return {}
        said = str(found.read[RATIONALES]).split("\n")
        return {
            CONFIDENCE: float(found.read[CONFIDENCE]),
            EVIDENCE: 1 - len(found.unfound) / len(said),
            INVENTED: "\n".join(found.unfound),
        }

    def frames(
        self, data: LogSet, aspects: Sequence[str], **simulate: object
    ) -> dict[tuple[int, ...], tuple[Sequence[Field], Request]]:
        """Return the fields, and a request; a simulated model prefers what is more like the history."""
        return super().frames(data, aspects, like="lines", pair=True, forced=not self.tie, **simulate)

    def prepared(self, data: LogSet, aspects: Sequence[str]) -> _Prepared:
        """Return texts and order; raise `DataError` if the data have not what is to be shown."""
        columns = data.table[[USER, FIRST, SECOND]].astype(str).to_numpy().tolist()
        groups = data.table.groupby(USER, sort=False).indices.values()
        matchings = data.table[MATCHING] if MATCHING in data.table else data.table[USER].map(lambda _: "")
        template = load_prompt(self.prompt)
        prompts = {
            name: PairPrompt(
                replace(data, table=part),
                template,
                reply=self.reply,
                fields=self.fields,
                history=self.history,
                tie=self.tie,
            )
            for name, part in data.table.groupby(matchings.to_numpy())
        }
        return _Prepared(
            [int(unit) for of in groups for unit in of],
            [(user, first, second) for user, first, second in columns],
            [prompts[name] for name in matchings],
        )

    def asked(self, data: LogSet, prepared: _Prepared) -> Sequence[int]:
        """Return all units, those of a user one after the other."""
        return prepared.asked

    def messages(
        self, data: LogSet, unit: int, aspects: Sequence[str], prepared: _Prepared
    ) -> list[tuple[str, str]] | Status:
        """Return what the model is told; where nothing is known of the user, it is not asked."""
        return prepared.prompts[unit].messages(*prepared.shown[unit]) or Status.MISSING

    def judged(
        self, data: LogSet, aspects: Sequence[str], prepared: _Prepared, units: int | None = None
    ) -> Judged:
        """Ask, and discard verdicts with invented evidence, if that is the rule."""
        judged = super().judged(data, aspects, prepared, units)
        if self.evidence == DISCARD and EVIDENCE in judged.kept:
            invented = judged.kept[EVIDENCE] < 1
            judged.grid.scores[invented] = np.nan
            judged.grid.codes[invented] = CODES[Status.INVENTED]
        return judged
