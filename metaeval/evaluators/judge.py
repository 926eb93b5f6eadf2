"""An LLM that rates explanations one by one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from metaeval.errors import DataError, SpecError, nearest
from metaeval.evaluators.arguments import check_flag
from metaeval.evaluators.base import BaseEvaluator
from metaeval.evaluators.examples import MODES, NONE, choose_examples
from metaeval.evaluators.frames import CODES, Grid, frame_of, rows_of
from metaeval.evaluators.judge_prompt import aliases_of, is_single, messages, profile_of
from metaeval.evaluators.judged import Judged
from metaeval.evaluators.judging import current
from metaeval.llm.prompt import joined, load_prompt
from metaeval.llm.providers import address_of, provider_named
from metaeval.llm.providers.simulated import settings_of
from metaeval.llm.reply import FORMS, PARSER, json_schema, parse_reply
from metaeval.llm.request import Request
from metaeval.types import Kind, ScoreTable, Status

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from metaeval.evaluators.examples import Examples
    from metaeval.evaluators.judging import Judging
    from metaeval.llm.prompt import PromptTemplate
    from metaeval.llm.reply import Parsed
    from metaeval.llm.request import Reply
    from metaeval.types import ExplanationSet

SIMULATED = "simulated"


class Question(NamedTuple):
    """One thing to ask: a unit, and the aspects that one reply is to rate."""

    unit: int
    """Position of the unit in the data."""
    aspects: tuple[int, ...]
    """Positions of the aspects among those that are scored."""
    request: Request


@dataclass(frozen=True, repr=False)
class Judge(BaseEvaluator):
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
        if not isinstance(self.model, str) or not all(self.model.partition("/")):
            raise SpecError(f"Judge takes a model such as 'openai/gpt-4o', not {self.model!r}")
        provider_named(self.provider)
        if self.provider == SIMULATED:
            settings_of(self.model.partition("/")[2])  # what cannot be set is said before anything is asked
        for name, value, known in (("examples", self.examples, MODES), ("reply", self.reply, FORMS)):
            if value not in known:
                raise SpecError(
                    f"Judge: {name}={value!r} is not known{nearest(str(value), known)} ({', '.join(known)})"
                )
        check_flag("Judge", "profile", self.profile)
        for name, least in (("replicate", 0), ("attempts", 1), ("max_tokens", 1), ("seed", 0)):
            number = getattr(self, name)
            if isinstance(number, bool) or not isinstance(number, int) or number < least:
                raise SpecError(f"Judge: {name}={number!r} must be a whole number, {least} or more")
        if isinstance(self.temperature, bool) or not isinstance(self.temperature, int | float):
            raise SpecError(f"Judge: temperature={self.temperature!r} must be a number")
        if self.temperature < 0:
            raise SpecError(f"Judge: temperature={self.temperature!r} must be 0 or more")

    @property
    def provider(self) -> str:
        """What stands before the first slash of the model."""
        return self.model.partition("/")[0]

    def signature(self, data: ExplanationSet) -> Mapping[str, Any]:
        """Return model, address, prompt with its hash, examples, settings and the version of the parser."""
        return {
            "model": self.model,
            "address": address_of(self.provider, self.base_url),
            "prompt": load_prompt(self.prompt).signature,
            "examples": self.examples,
            "seed": self.seed,
            "profile": self.profile,
            "temperature": self.temperature,
            "max_tokens": self.max_tokens,
            "replicate": self.replicate,
            "reply": self.reply,
            "attempts": self.attempts,
            "parser": PARSER,
            **({SIMULATED: True} if self.provider == SIMULATED else {}),
        }

    def questions(self, data: ExplanationSet, aspects: Sequence[str]) -> Iterator[Question]:
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
    ) -> Iterator[Question]:
        template = load_prompt(self.prompt)
        every = tuple(range(len(aspects)))
        rounds = [(a,) for a in every] if is_single(template) else [every]
        profiles: dict[str, Mapping[str, str]] = {}
        frames: dict[tuple[int, ...], Request] = {}  # all but the messages, by what is asked
        columns = [*data.keys, *(c for c in ("item_title", "explanation") if c in data.explanations)]
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
                    frames[asked] = self._request(data, names)
                yield Question(unit, asked, frames[asked].asking(conversation))

    def _request(self, data: ExplanationSet, names: Sequence[str]) -> Request:
        """Return a request for these aspects, without messages."""
        scale = data.scale
        parameters: dict[str, Any] = {"temperature": self.temperature, "max_tokens": self.max_tokens}
        schema = None
        if self.provider == SIMULATED and self.reply == "text":
            parameters["simulate"] = {"values": len(names), "min": scale.min, "max": scale.max}
        elif self.reply == "json" or self.provider == SIMULATED:
            schema = json_schema(names, scale.min, scale.max, scale.integer)
        return Request(
            provider=self.provider,
            model=self.model.partition("/")[2],
            messages=(),
            parameters=parameters,
            base_url=self.base_url,
            schema=schema,
            replicate=self.replicate,
        )

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
        from metaeval.llm.runner import Run

        aliases = aliases_of(data, aspects)
        scale = data.scale
        places: list[tuple[int, tuple[int, ...]]] = []
        prompts: dict[int, str] = {}  # of requests under way, as are the replies read
        read: dict[int, Parsed] = {}

        def requests() -> Iterator[Request]:
            for question in self._questions(data, aspects, examples):
                prompts[len(places)] = joined(question.request.messages)
                places.append((question.unit, question.aspects))
                yield question.request

        def usable(index: int, reply: Reply) -> bool:
            names = [aspects[a] for a in places[index][1]]
            read[index] = parse_reply(
                reply.text,
                names,
                scale.min,
                scale.max,
                scale.integer,
                form=self.reply,
                finish_reason=reply.finish_reason,
                refusal=reply.refusal,
                aliases={a: aliases[a] for a in names},
                prompt=prompts.get(index),
            )
            return read[index].status is Status.OK

        template: PromptTemplate = load_prompt(self.prompt)
        run = Run(
            requests(),
            settings.store,
            clients=settings.clients,
            limits=settings.limits,
            budget=settings.left(),
            prices=settings.prices,
            usable=usable,
            attempts=self.attempts,
            offline=settings.offline,
            description=str(self.spec),
            total=len(data) * (len(aspects) if is_single(template) else 1),
        )
        try:
            for answer in run:
                unit, asked = places[answer.position]
                del prompts[answer.position]
                parsed = read.pop(answer.position, None) if answer.reply.error is None else None
                judged.take(unit, asked, [aspects[a] for a in asked], answer, parsed)
                costs = [settings.prices.cost(answer.request, reply) for reply in answer.replies]
                judged.pay(unit, asked, answer, costs)
        finally:
            settings.tallies.append(run.tally)


def _has_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())
