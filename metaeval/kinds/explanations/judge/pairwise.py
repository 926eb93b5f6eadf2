"""An LLM that says which of two explanations is better."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import ClassVar, cast

from metaeval.base.errors import PromptError, SpecError
from metaeval.base.records import FIRST, SECOND, TIE, ScoreTable
from metaeval.evaluators.base import integer, word
from metaeval.evaluators.grid import Grid, frame_of
from metaeval.evaluators.verdicts import FLIPS, METHODS, Flips
from metaeval.judging.model_evaluator import ModelEvaluator
from metaeval.judging.outcome import Question
from metaeval.judging.prompts import Asks
from metaeval.judging.settings import current
from metaeval.kinds.explanations.data.explanation_set import ExplanationSet
from metaeval.kinds.explanations.judge.judge import ShowsProfile
from metaeval.kinds.explanations.judge.pairs import (
    ALL,
    SAMPLED,
    SELECTIONS,
    SWISS,
    Compared,
    Match,
    PairGroup,
    all_matches,
    compared_groups,
    sampled_matches,
    swiss_matches,
)
from metaeval.kinds.explanations.judge.prompt import (
    COMPARING,
    aliases_of,
    entries_of,
    one_line,
    statement_of,
    title_of,
)
from metaeval.llm.prompts.template import load_prompt
from metaeval.llm.replies.fields import Choice, Given

PER = ("unit", "generator")
ANSWERS: Mapping[Given, Sequence[str]] = {TIE: ("0",), FIRST: ("1",), SECOND: ("2",)}
"""What a reply says of an aspect: which of the texts is better, by the order in which they are shown."""


@dataclass(frozen=True, repr=False)
class Pairwise(ModelEvaluator, ShowsProfile):
    """A language model that compares two explanations of an item for a user, and says which is better.

    Every pair is shown in both orders. A win counts only if both orders agree; where they differ it is a
    flip. The score is a strength, estimated from the verdicts.

    Parameters
    ----------
    prompt
        ``pairwise`` (all aspects in one call), ``pairwise-single`` (one call per aspect), or your own file.
    pairs
        ``all`` pairs of generators for each user and item; ``sampled``: ``n`` of them, drawn; ``swiss``:
        ``rounds`` Swiss rounds, in which generators with similar records meet.
    n, rounds
        For ``sampled`` and ``swiss`` alone.
    aggregate
        ``bradley-terry``, ``elo`` or ``win-rate``.
    per
        ``unit``: strength among the explanations of the same user and item; ``generator``: one strength for
        all units of a generator, compared or not.
    flips
        ``tie``: half a point for each; ``drop``: not counted.
    model, profile, temperature, replicate, reply, base_url, attempts, max_tokens
        As for `Judge`.
    seed
        Of the draw of pairs, of the order of equals, and of the order of comparisons for Elo.
    """

    prompt: str = "pairwise"
    pairs: str = word(ALL, SELECTIONS)
    n: int | None = integer(None, 1, none=True)
    rounds: int | None = integer(None, 1, none=True)
    aggregate: str = word("bradley-terry", METHODS)
    per: str = word("unit", PER)
    flips: str = word("tie", FLIPS)
    asks: ClassVar[Asks] = COMPARING

    def __post_init__(self) -> None:
        """Raise `MetaevalError` for an argument that cannot be used."""
        super().__post_init__()
        for name, selection in (("n", SAMPLED), ("rounds", SWISS)):
            value = getattr(self, name)
            if self.pairs == selection and value is None:
                raise SpecError(f"Pairwise: {name} must be an integer of at least 1, not None")
            if self.pairs != selection and value is not None:
                raise SpecError(f"Pairwise: {name}={value!r} is for pairs={selection!r}, not {self.pairs!r}")

    @property
    def simulation(self) -> Mapping[str, object]:
        """A simulated model says which of two it prefers."""
        return {"pair": True}

    def fixed(self, data: ExplanationSet, aspects: Sequence[str]) -> Mapping[str, object]:
        """Return what the prompt says of aspects; `PromptError` if it is not a pairwise one."""
        template = load_prompt(self.prompt)
        if not {*COMPARING.needed} <= {*template.placeholders}:
            raise PromptError(
                f"prompt {template.name!r} does not compare two texts: it must use 'first' and 'second'; "
                "take 'pairwise', or a file of your own that does"
            )
        named = [{"name": one_line(a), "statement": statement_of(data, a)} for a in aspects]
        return {"aspects": named, "language": one_line(data.language) or None}

    def reply_fields(self, data: ExplanationSet, aspects: Sequence[str]) -> list[Choice]:
        """Return for each aspect which of the two texts is better."""
        aliases = aliases_of(data, aspects)
        return [Choice(a, ANSWERS, aliases[a]) for a in aspects]

    def questions(self, data: ExplanationSet, aspects: Sequence[str]) -> Iterator[Question]:
        """Yield what is to be asked; nothing is sent.

        The later rounds of a Swiss tournament depend on the replies; here every verdict counts as a tie, so
        that the number of questions is about right.
        """
        groups = self._groups(data)
        matches: list[Match] = []
        for round_ in range(self.rounds or 1):
            chosen = self._chosen(groups, round_, {}, {(m.first, m.second) for m in matches})
            yield from self._questions(data, aspects, chosen, len(matches))
            matches += chosen

    def grid(self, data: ExplanationSet, aspects: Sequence[str]) -> Grid:
        """Ask, and return scores and failures alone."""
        return self._grid(self._compared(data, aspects))

    def score(self, data: ExplanationSet, aspects: Sequence[str]) -> ScoreTable:
        """Ask the model about the pairs, and return each unit's strength, or why there is none.

        The table has the columns of `Judge`'s; a call's cost is shared by its two units. Its ``verdicts``
        hold one row per order, pair and aspect. The signature's ``outcome`` says: ``comparisons`` of
        ``possible`` pairs, ``calls_saved``, and how many pairs × aspects were ``wins``, ``ties``, ``flips``
        and ``failed``. Errors are those of `Judge`: data, prompt or model cannot be used, or the work was
        stopped.
        """
        compared = self._compared(data, aspects)
        name = str(self.spec)
        frame = frame_of(self._grid(compared), data, aspects, name)
        for column, spent in compared.costs().items():
            frame[column] = spent.T.ravel()
        frame["call"] = compared.calls().T.ravel().astype(str)
        possible = len(all_matches(self._groups(data)))
        saved = possible - len(compared.matches)
        signature = {
            **self.signature(data),
            **compared.met,
            "outcome": {
                "comparisons": len(compared.matches),
                "possible": possible,
                "calls_saved": 2 * saved * len(self.parts(data, aspects)),
                **compared.counts(),
            },
        }
        verdicts = compared.frame(name)
        return ScoreTable(frame, {name: signature}, {name: self.kind}, verdicts=verdicts)

    def _grid(self, compared: Compared) -> Grid:
        return compared.grid(self.aggregate, self.per, cast("Flips", self.flips), self.seed)

    def _groups(self, data: ExplanationSet) -> list[PairGroup]:
        return compared_groups(data, self, f"take Judge('{self.model}')")

    def _chosen(
        self,
        groups: Sequence[PairGroup],
        round_: int,
        standings: Mapping[int, float],
        played: set[tuple[int, int]],
    ) -> list[Match]:
        """Return the pairs of a round; only a Swiss tournament has more than one."""
        if self.pairs == SWISS:
            return swiss_matches(groups, standings, played, self.seed + round_)
        if self.pairs == SAMPLED:
            return sampled_matches(groups, cast("int", self.n), self.seed)
        return all_matches(groups)

    def _questions(
        self, data: ExplanationSet, aspects: Sequence[str], matches: Sequence[Match], start: int
    ) -> Iterator[Question]:
        bare = self.bare_requests(data, aspects)
        prompts = {part: self.filled(data, [aspects[a] for a in part]) for part in bare}
        texts = [str(text) for text in data.explanations["explanation"]]
        titles = list(data.explanations.get("item_title", [None] * len(data)))
        profile = self.profiles(data)
        for at, match in enumerate(matches, start):
            for order, shown in enumerate([match[1:], match[:0:-1]]):
                own = {
                    "first": texts[shown[0]],
                    "second": texts[shown[1]],
                    "item_title": title_of(titles[match.first]),
                    "profile": entries_of(profile(match.first)),
                }
                for part, (fields, request) in bare.items():
                    messages = prompts[part].messages(own) or ()
                    sent = request.asking(messages)
                    yield Question((at, order), part, fields, sent)

    def _compared(self, data: ExplanationSet, aspects: Sequence[str]) -> Compared:
        groups = self._groups(data)
        compared = Compared(data, aspects)
        with current() as settings:
            for round_ in range(self.rounds or 1):
                matches = self._chosen(groups, round_, compared.standings(), compared.played)
                if not matches:  # all have met
                    break
                questions = self._questions(data, aspects, matches, len(compared.matches))
                compared.expect(matches)
                total = 2 * len(matches) * len(self.parts(data, aspects))
                with closing(self.ask(questions, settings, total=total)) as answers:
                    for question, answer in answers:
                        compared.take(question, answer)
        return compared
