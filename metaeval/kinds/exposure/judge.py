"""A language model that says which of two matched items a user prefers, and quotes its evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import ClassVar

import numpy as np

from metaeval.base.records import FIRST, SECOND, Scale, Status
from metaeval.evaluators.base import flag, word
from metaeval.evaluators.grid import CODES
from metaeval.judging.outcome import QuestionResult, UnitResults
from metaeval.judging.prompts import Asks
from metaeval.judging.unit_judge import HistoryJudge, Shown
from metaeval.kinds.exposure.data.log_set import ITEM, MATCHING, USER, LogSet
from metaeval.kinds.known_items import (
    USER_SAMPLE,
    items_or_names,
    lines_of,
    recent_histories,
    user_profiles,
)
from metaeval.llm.replies.fields import Choice, Field, Given, Number, Text

TAGS: Mapping[str, str] = {
    "profile_tag": "profile",
    "history_tag": "history",
    "first_tag": "item-a",
    "second_tag": "item-b",
}
"""Placeholder → the tag between which a block of user or item stands: all that evidence may quote."""
_UNTOLD = ("released",)  # fields of items that are told only if they are named: seconds since 1970
WINNER, CONFIDENCE, RATIONALES = "winner", "confidence", "rationales"
DISCARD, WEIGHT, IGNORE = EVIDENCE_RULES = ("discard", "weight", "ignore")
"""What is done with a verdict of which some evidence is invented."""
EVIDENCE, INVENTED = "evidence", "invented"
"""Columns of the scores: the share of a verdict's evidence that was found, and what was not, a line each."""
_WORDS: Mapping[Given, Sequence[str]] = {0.0: ("TIE",), 1.0: ("A",), -1.0: ("B",)}
"""Score → what a reply says. Letters: digits would be read as numbers, of which a reason may name others."""


_PAIR: Mapping[str, object] = {"first": "title: A", "second": "title: B"}
ASKS = Asks(
    sample={
        "outcome": "Did the user click?",
        "outcome_min": "0",
        "outcome_max": "1",
        **TAGS,
        "tie": (True, False),
        "reply_form": "json",
        **USER_SAMPLE,
        "profile": "age: 30",
        **_PAIR,
    },
    optional=("profile", "history"),
    needed=("outcome", "history", *_PAIR),
    noun="pair",
    own=tuple(_PAIR),
    shared=("history", "profile"),
)
"""Of the prompt. ``outcome`` is what an outcome in the log is, from ``outcome_min`` to ``outcome_max``.
``profile`` is a line per field, ``history`` that of `metaeval.kinds.known_items`, ``first`` and ``second``
are the items, each to be shown between its tags. ``tie``: whether one is allowed."""


@dataclass(frozen=True, repr=False)
class MatchedPairs(HistoryJudge):
    """A language model that compares two items: which one the user prefers, how sure it is, and why.

    The score is 1 for the item that is shown first, -1 for the other one, 0 for a tie. Each pair is a unit in
    both orders. Every rationale quotes evidence, which must stand word for word in what the prompt shows of
    user or items (see ``metaeval.judging.reading``), never in its instructions. A reply without a
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
    model, prompt, temperature, replicate, reply, base_url, attempts, max_tokens, seed
        As for `metaeval.judging.model_evaluator.ModelEvaluator`.
    samples
        As for `metaeval.judging.unit_judge.UnitJudge`: the score is then a mean of verdicts, and the evidence
        is that of all.
    fields, history
        As for `metaeval.judging.unit_judge.HistoryJudge`.
    """

    prompt: str = "pairs-of-items"
    _: KW_ONLY
    evidence: str = word(DISCARD, EVIDENCE_RULES)
    tie: bool = flag(True)
    asks: ClassVar[Asks] = ASKS

    def reply_fields(self, data: LogSet, aspects: Sequence[str]) -> list[Field]:
        """Return the winner, how sure the model is, and rationales with evidence."""
        del data, aspects
        words = {score: word for score, word in _WORDS.items() if self.tie or score}
        return [
            Choice(WINNER, words, ("preference", "preferred", "verdict", "choice", "answer")),
            Number(CONFIDENCE, Scale(0, 1, integer=False), ("certainty",)),
            Text(RATIONALES, tuple(TAGS.values()), ("rationale", "evidence"), binding=False, many=True),
        ]

    def value(self, read: Mapping[str, Given], aspect: str) -> float:
        """Return the verdict."""
        del aspect
        return float(read[WINNER])

    def beside(self, found: QuestionResult) -> Mapping[str, Given]:
        """Return how sure the model is, the share of its evidence that was found, and what was not."""
        if found.read is None:
            return {}
        quoted = str(found.read[RATIONALES]).split("\n")
        return {
            CONFIDENCE: float(found.read[CONFIDENCE]),
            EVIDENCE: 1 - len(found.unfound) / len(quoted),
            INVENTED: "\n".join(found.unfound),
        }

    @property
    def simulation(self) -> Mapping[str, object]:
        """A simulated model prefers what is more like the history."""
        return {"like": "lines", "pair": True, "forced": not self.tie}

    def fixed(self, data: LogSet, aspects: Sequence[str]) -> Mapping[str, object]:
        """Return what is the same for all pairs."""
        del aspects
        return {
            "outcome": data.statement or "the outcome in the log",
            "outcome_min": f"{data.outcome.min:g}",
            "outcome_max": f"{data.outcome.max:g}",
            "tie": self.tie,
            **TAGS,
        }

    def shown(self, data: LogSet, aspects: Sequence[str]) -> Shown:
        """Return the items of each pair, and the order of asking: the pairs of a user together.

        Pairs that are matched otherwise leave other items out of the history. `DataError` is raised if the
        data have not what is to be shown.
        """
        del aspects
        every = [] if data.items is None else [c for c in map(str, data.items) if c not in {ITEM, *_UNTOLD}]
        items = items_or_names(data, self.fields or every, data.judged, "item")
        lines, units = lines_of(items), data.table
        matchings = units[MATCHING] if MATCHING in units else units[USER].map(lambda _: "")
        parts = {str(name): replace(data, table=part) for name, part in units.groupby(matchings.to_numpy())}
        known = {
            name: user_profiles(part, items, recent_histories(part, part.judged), history=self.history).of
            for name, part in parts.items()
        }
        pairs = units[[FIRST, SECOND]].astype(str).to_numpy().tolist()

        def shared(of: tuple[str, str]) -> Mapping[str, object] | None:
            matching, user = of
            told = known[matching](user)
            if told is None:
                return None
            profile = "\n".join(f"{entry['name']}: {entry['value']}" for entry in told["profile"] or ())
            return {**told, "profile": profile or None}

        return Shown(
            own=lambda unit, _: dict(zip(_PAIR, map(lines.__getitem__, pairs[unit]), strict=True)),
            groups=[*zip(matchings.astype(str), units[USER].astype(str), strict=True)],
            shared=shared,
            order=[int(unit) for of in units.groupby(USER, sort=False).indices.values() for unit in of],
        )

    def results(
        self, data: LogSet, aspects: Sequence[str], shown: Shown, units: int | None = None
    ) -> UnitResults:
        """Ask, and discard verdicts with invented evidence, if that is the rule."""
        results = super().results(data, aspects, shown, units)
        if self.evidence == DISCARD and EVIDENCE in results.kept:
            invented = results.kept[EVIDENCE] < 1
            results.grid.scores[invented] = np.nan
            results.grid.codes[invented] = CODES[Status.INVENTED]
        return results
