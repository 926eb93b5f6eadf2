"""An LLM that rates explanations one by one."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from metaeval.base.errors import DataError
from metaeval.base.records import Kind, ScoreTable, Status
from metaeval.evaluators.grid import CODES, Grid, frame_of, rows_of
from metaeval.judging.asker import ModelEvaluator
from metaeval.judging.outcome import Judged
from metaeval.judging.settings import current
from metaeval.kinds.explanations.judge.examples import MODES, NONE, choose_examples
from metaeval.kinds.explanations.judge.prompt import (
    aliases_of,
    check_references,
    is_single,
    messages,
    profile_of,
)
from metaeval.llm.prompts.template import load_prompt

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from metaeval.judging.settings import Judging
    from metaeval.kinds.explanations.data.explanation_set import ExplanationSet
    from metaeval.kinds.explanations.judge.examples import Examples
    from metaeval.llm.calls.request import Request


class UnitQuestion(NamedTuple):
    """One thing to ask: a unit, and the aspects that one reply is to rate."""

    unit: int
    """Position of the unit in the data."""
    aspects: tuple[int, ...]
    """Positions of the aspects among those that are scored."""
    request: Request


@dataclass(frozen=True, repr=False)
class Judge(ModelEvaluator):
    """A language model as an evaluator: it is shown an explanation and rates its aspects.

    Scores are on the data set's scale; whatever does not hold a complete, valid answer is a typed failure.

    Parameters
    ----------
    model
        ``provider/model``, such as ``openai/gpt-4o`` or ``dashscope/qwen-max``.
    prompt
        The name of a prompt that ships with the package, or the path of one's own.
    examples
        ``none`` (zero-shot), ``one-shot``, ``personalized`` or ``shuffled``; see `choose_examples`. Units
        shown as examples are never scored.
    profile
        Whether the judge is told the user's profile.
    temperature
        Of the model's sampling.
    replicate
        Number of the repetition, to ask the same again on purpose.
    reply
        ``json`` (with the provider's own schema check), ``text`` (ratings at the end of a reasoned
        answer), or ``auto``: the form that the prompt names first, asked for in words alone.
    base_url
        Address of a compatible server; the environment's or the provider's own, if left out.
    attempts
        How often is asked at most until a reply will do; each attempt is a call of its own.
    max_tokens
        Longest reply.
    seed
        Of the choice of examples.
    """

    model: str
    prompt: str = "multi-aspect"
    examples: str = NONE
    profile: bool = False
    temperature: float = 0
    replicate: int = 0
    reply: str = "auto"
    base_url: str | None = None
    attempts: int = 3
    max_tokens: int = 1024
    seed: int = 0
    kind: ClassVar[Kind] = Kind.JUDGE

    def __post_init__(self) -> None:
        self.check_settings()
        self.check_word("examples", MODES)

    def signature(self, data: ExplanationSet) -> Mapping[str, Any]:
        """Return model, address, prompt with its hash, examples, settings and the version of the parser."""
        return {**self.model_signature(), "examples": self.examples}

    def questions(self, data: ExplanationSet, aspects: Sequence[str]) -> Iterator[UnitQuestion]:
        """Yield what is to be asked, unit by unit; nothing is sent.

        Raises
        ------
        DataError, PromptError
            If the data have not what the prompt or the examples need.
        """
        yield from self._questions(data, aspects, self._examples(data, aspects))

    def grid(self, data: ExplanationSet, aspects: Sequence[str]) -> Grid:
        """Ask, and return scores and failures alone."""
        return self._judged(data, aspects).grid

    def score(self, data: ExplanationSet, aspects: Sequence[str]) -> ScoreTable:
        """Ask the model about every unit, and return its ratings, or why there is none.

        Beside the usual columns the table has ``tokens``, ``usd`` and ``seconds`` (a call's, divided by the
        aspects that it rates; all attempts together; NaN where unknown) and ``call``, the key of the last
        reply in the store.

        Raises
        ------
        DataError, PromptError, MetaevalError
            If the data, the prompt or the model cannot be used.
        StoppedError
            If a model answers no call at all, or it was interrupted.
        """
        judged = self._judged(data, aspects)
        name = str(self.spec)
        frame = frame_of(judged.grid, data, aspects, name)
        for column in ("tokens", "usd", "seconds"):
            frame[column] = getattr(judged, column).T.ravel()
        frame["call"] = judged.call.T.ravel().astype(str)
        signature = {**self.signature(data), **judged.outcome}
        return ScoreTable(frame, {name: signature}, {name: self.kind})

    def _examples(self, data: ExplanationSet, aspects: Sequence[str]) -> Examples:
        if "explanation" not in data.explanations:
            raise DataError(f"data set {data.name!r} has no explanation texts, so there is nothing to judge")
        return choose_examples(data, aspects, self.examples, self.seed)

    def _questions(
        self, data: ExplanationSet, aspects: Sequence[str], examples: Examples
    ) -> Iterator[UnitQuestion]:
        template = load_prompt(self.prompt)
        check_references(template, data)
        every = tuple(range(len(aspects)))
        rounds = [(a,) for a in every] if is_single(template) else [every]
        profiles: dict[str, Mapping[str, str]] = {}
        frames: dict[tuple[int, ...], Request] = {}  # all but the messages, by what is asked
        texts = ("item_title", "explanation", "reference")
        columns = [*data.keys, *(c for c in texts if c in data.explanations)]
        for unit, values in enumerate(rows_of(data.explanations, columns)):
            row: dict[str, Any] = dict(zip(columns, values, strict=True))
            key = values[: len(data.keys)]
            if key in examples.shown or not _has_text(row["explanation"]):
                continue
            profile = None
            if self.profile:
                user = str(row.get("user_id", ""))
                profile = profiles.setdefault(user, profile_of(data, user))
            for asked in rounds:
                names = [aspects[a] for a in asked]
                conversation = messages(
                    template,
                    data,
                    row,
                    names,
                    example=examples.of_unit.get(key),
                    profile=profile,
                    reply=self.reply,
                )
                if asked not in frames:
                    frames[asked] = self.bare_request(names, data.scale)
                yield UnitQuestion(unit, asked, frames[asked].asking(conversation))

    def _judged(self, data: ExplanationSet, aspects: Sequence[str]) -> Judged:
        examples = self._examples(data, aspects)
        judged = Judged(len(data), len(aspects))
        if examples.shown:
            for unit, key in enumerate(rows_of(data.explanations, data.keys)):
                if key in examples.shown:
                    judged.grid.codes[unit] = CODES[Status.EXAMPLE]
        judged.outcome["without_example"] = examples.without
        with current() as settings:
            self._ask(data, aspects, examples, judged, settings)
        judged.outcome["models"] = sorted(judged.models)
        judged.outcome["fingerprints"] = sorted(judged.fingerprints)
        return judged

    def _ask(
        self,
        data: ExplanationSet,
        aspects: Sequence[str],
        examples: Examples,
        judged: Judged,
        settings: Judging,
    ) -> None:
        single = is_single(load_prompt(self.prompt))
        asking = self.ask(
            self._questions(data, aspects, examples),
            aspects,
            data.scale,
            aliases_of(data, aspects),
            settings,
            total=len(data) * (len(aspects) if single else 1),
        )
        with closing(asking) as answered:
            for question, answer, parsed in answered:
                unit, asked = question.unit, question.aspects
                judged.take(unit, asked, [aspects[a] for a in asked], answer, parsed)
                costs = [settings.prices.cost(answer.request, reply) for reply in answer.replies]
                judged.pay(unit, asked, answer, costs)


def _has_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())
