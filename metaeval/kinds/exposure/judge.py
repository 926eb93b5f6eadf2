"""A language model that says which of two matched items a user prefers, and quotes its evidence."""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from metaeval.base.errors import Problem
from metaeval.base.records import FIRST, SECOND, Scale, Status
from metaeval.evaluators.base import check_flag
from metaeval.evaluators.grid import CODES
from metaeval.judging.outcome import QuestionResult, UnitResults
from metaeval.judging.prompts import PartedPrompt, Parts, check_file
from metaeval.judging.unit_judge import HistoryJudge
from metaeval.kinds.exposure.data.log_set import ITEM, MATCHING, TIME, USER, LogSet
from metaeval.kinds.known_items import histories_of, items_of, lines_of, user_profiles
from metaeval.llm.calls.request import Request
from metaeval.llm.prompts.template import load_prompt
from metaeval.llm.replies.fields import Choice, Field, Given, Number, Text

TAGS: Mapping[str, str] = {
    "profile_tag": "profile",
    "history_tag": "history",
    "first_tag": "item-a",
    "second_tag": "item-b",
}
"""Placeholder → the tag between which a block of user or item stands: all that evidence may quote."""
PLACEHOLDERS: tuple[str, ...] = (
    *("outcome", "outcome_min", "outcome_max", *TAGS, "tie", "reply_form"),
    *("profile", "history", "first", "second"),
)
"""Placeholders of the prompt. ``outcome`` is what an outcome in the log is, from ``outcome_min`` to
``outcome_max``. ``profile`` is a line per field, ``history`` that of `metaeval.kinds.known_items`,
``first`` and ``second`` are the items, each to be shown between its tags. ``tie``: whether one is allowed."""
PARTS = Parts("pair", ("first", "second"))
_UNTOLD = ("released",)  # fields of items that are told only if they are named: seconds since 1970
WINNER, CONFIDENCE, RATIONALES = "winner", "confidence", "rationales"
DISCARD, WEIGHT, IGNORE = EVIDENCE_RULES = ("discard", "weight", "ignore")
"""What is done with a verdict of which some evidence is invented."""
EVIDENCE, INVENTED = "evidence", "invented"
"""Columns of the scores: the share of a verdict's evidence that was found, and what was not, a line each."""
_WORDS: Mapping[Given, Sequence[str]] = {0.0: ("TIE",), 1.0: ("A",), -1.0: ("B",)}
"""Score → what a reply says. Letters: digits would be read as numbers, of which a reason may name others."""


class PairPrompt:
    """The prompt of a judge about matched pairs, to be filled for one user and pair after the other."""

    def __init__(self, data: LogSet, judge: MatchedPairs) -> None:
        items = _items_of(data, judge.fields)
        self._lines = lines_of(items)
        past = histories_of(data, data.judged)[::-1]
        if TIME in past:
            past = past.sort_values(TIME, ascending=False, kind="stable")
        self._profiles = user_profiles(data, items, past, history=judge.history)
        fixed = {
            "outcome": data.statement or "the outcome in the log",
            "outcome_min": f"{data.outcome.min:g}",
            "outcome_max": f"{data.outcome.max:g}",
            "tie": judge.tie,
            **TAGS,
        }
        template = load_prompt(judge.prompt)
        self._prompt = PartedPrompt(template, PARTS, fixed, known=PLACEHOLDERS, reply=judge.reply)
        # Filled once per user, and the very same text for all of the pairs.
        self._shared = functools.lru_cache(maxsize=4)(self._of_user)

    def messages(self, user: str, first: str, second: str) -> list[tuple[str, str]] | None:
        """Return role and text of each message; None if nothing is known of the user."""
        shared = self._shared(user)
        if shared is None:
            return None
        return [*shared, *self._prompt.own({"first": self._lines[first], "second": self._lines[second]})]

    def _of_user(self, user: str) -> list[tuple[str, str]] | None:
        known = self._profiles.of(user)
        if known is None:
            return None
        profile = "\n".join(f"{entry['name']}: {entry['value']}" for entry in known["profile"] or ())
        return self._prompt.shared({**known, "profile": profile or None})


def _items_of(data: LogSet, fields: Sequence[str]) -> dict[str, list[tuple[str, str]]]:
    """Return what is told of each item: its name, where nothing else is known."""
    known: dict[str, list[tuple[str, str]]] = {}
    if data.items is not None or fields:
        every = [] if data.items is None else [c for c in map(str, data.items) if c not in {ITEM, *_UNTOLD}]
        known = items_of(data, fields or every)
    past = data.histories
    names = {*data.judged[ITEM], *([] if past is None else past[ITEM].unique())}
    return {item: known.get(item) or [("item", item)] for item in sorted(map(str, names))}


def check_pairs_prompt(path: str | os.PathLike[str]) -> list[Problem]:
    """Return everything that is wrong with a file as a prompt of `MatchedPairs`; empty if it can be used."""
    shown = {"outcome": "Did the user click?", "outcome_min": "0", "outcome_max": "1", **TAGS}
    least = {**shown, "tie": False, "first": "title: A", "second": "title: B"}
    history = {"text": "title: C; rated 1", "shown": "1", "total": "2", "recent": True, "ratings": None}
    most = {**least, "tie": True, "profile": "age: 30", "history": history}
    needed = ("outcome", "history", *PARTS.own)
    return check_file(path, needed=needed, known=PLACEHOLDERS, samples=[least, most], more=PARTS.wrong)


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
    model, prompt, temperature, replicate, reply, template, base_url, attempts, max_tokens, seed
        As for `metaeval.judging.model_evaluator.ModelEvaluator`.
    samples
        As for `metaeval.judging.unit_judge.UnitJudge`: the score is then a mean of verdicts, and the evidence
        is that of all.
    fields, history
        As for `metaeval.judging.unit_judge.HistoryJudge`.
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
        prompts = {
            name: PairPrompt(replace(data, table=part), self)
            for name, part in data.table.groupby(matchings.to_numpy())
        }
        return _Prepared(
            [int(unit) for of in groups for unit in of],
            [(user, first, second) for user, first, second in columns],
            [prompts[name] for name in matchings],
        )

    def units_to_ask(self, data: LogSet, prepared: _Prepared) -> Sequence[int]:
        """Return all units, those of a user one after the other."""
        return prepared.asked

    def messages(
        self, data: LogSet, unit: int, aspects: Sequence[str], prepared: _Prepared
    ) -> list[tuple[str, str]] | Status:
        """Return what the model is told; where nothing is known of the user, it is not asked."""
        return prepared.prompts[unit].messages(*prepared.shown[unit]) or Status.MISSING

    def results(
        self, data: LogSet, aspects: Sequence[str], prepared: _Prepared, units: int | None = None
    ) -> UnitResults:
        """Ask, and discard verdicts with invented evidence, if that is the rule."""
        results = super().results(data, aspects, prepared, units)
        if self.evidence == DISCARD and EVIDENCE in results.kept:
            invented = results.kept[EVIDENCE] < 1
            results.grid.scores[invented] = np.nan
            results.grid.codes[invented] = CODES[Status.INVENTED]
        return results
