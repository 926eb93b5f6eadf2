"""What evaluators that ask a language model have in common: settings, and the way from question to reply."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from metaeval.base.errors import SpecError, nearest
from metaeval.base.records import Status
from metaeval.evaluators.arguments import check_flag
from metaeval.evaluators.base import BaseEvaluator
from metaeval.llm.calls.request import Request
from metaeval.llm.prompts.template import joined, load_prompt
from metaeval.llm.providers import address_of, provider_named
from metaeval.llm.providers.simulated import settings_of
from metaeval.llm.replies.reader import FORMS, PARSER, json_schema, parse_reply

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence

    from metaeval.base.records import DataOfKind, Scale
    from metaeval.judging.settings import Judging
    from metaeval.llm.calls.request import Reply
    from metaeval.llm.calls.work import Answer
    from metaeval.llm.replies.reader import Parsed

SIMULATED = "simulated"


class Asked(Protocol):
    """One thing to ask."""

    @property
    def aspects(self) -> tuple[int, ...]:
        """Positions, among those that are scored, of the aspects that the reply is to be about."""
        ...

    @property
    def request(self) -> Request:
        """What is sent."""
        ...


Q = TypeVar("Q", bound=Asked)


class ModelEvaluator(BaseEvaluator):
    """An evaluator that asks a language model; a subclass has these fields, whatever else it has."""

    if TYPE_CHECKING:
        model: str
        prompt: str
        profile: bool
        temperature: float
        replicate: int
        reply: str
        base_url: str | None
        attempts: int
        max_tokens: int
        seed: int

    @abstractmethod
    def questions(self, data: DataOfKind, aspects: Sequence[str]) -> Iterator[Asked]:
        """Yield what is to be asked; nothing is sent."""

    @property
    def provider(self) -> str:
        """What stands before the first slash of the model."""
        return self.model.partition("/")[0]

    def check_settings(self) -> None:
        """Raise `MetaevalError` for a setting that cannot be used."""
        name = type(self).__name__
        if not isinstance(self.model, str) or not all(self.model.partition("/")):
            raise SpecError(f"{name} takes a model such as 'openai/gpt-4o', not {self.model!r}")
        provider_named(self.provider)
        if self.provider == SIMULATED:
            settings_of(self.model.partition("/")[2])  # what cannot be set is said before anything is asked
        self.check_word("reply", FORMS)
        check_flag(name, "profile", self.profile)
        for field, least in (("replicate", 0), ("attempts", 1), ("max_tokens", 1), ("seed", 0)):
            number = getattr(self, field)
            if isinstance(number, bool) or not isinstance(number, int) or number < least:
                raise SpecError(f"{name}: {field}={number!r} must be a whole number, {least} or more")
        if isinstance(self.temperature, bool) or not isinstance(self.temperature, int | float):
            raise SpecError(f"{name}: temperature={self.temperature!r} must be a number")
        if self.temperature < 0:
            raise SpecError(f"{name}: temperature={self.temperature!r} must be 0 or more")

    def check_word(self, field: str, known: Sequence[str]) -> None:
        """Raise `SpecError` unless a setting is one of the words that are known."""
        value = getattr(self, field)
        if value not in known:
            raise SpecError(
                f"{type(self).__name__}: {field}={value!r} is not known{nearest(str(value), known)} "
                f"({', '.join(known)})"
            )

    def model_signature(self) -> dict[str, Any]:
        """Return model, address, prompt with its hash, settings and the version of the parser."""
        return {
            "model": self.model,
            "address": address_of(self.provider, self.base_url),
            "prompt": load_prompt(self.prompt).signature,
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

    def bare_request(self, names: Sequence[str], scale: Scale, **simulate: object) -> Request:
        """Return a request without messages.

        Parameters
        ----------
        names
            Aspects to answer.
        scale
            Of the answers.
        **simulate
            What a simulated model is to be told beside the scale.
        """
        parameters: dict[str, Any] = {"temperature": self.temperature, "max_tokens": self.max_tokens}
        schema = None
        if self.provider == SIMULATED and (simulate or self.reply == "text"):
            told = {"values": len(names), "min": scale.min, "max": scale.max}
            parameters["simulate"] = {**told, **simulate}
        if self.reply == "json" or (self.provider == SIMULATED and self.reply != "text"):
            reasons = load_prompt(self.prompt).rubric is not None
            schema = json_schema(names, scale.min, scale.max, scale.integer, reasons=reasons)
        return Request(
            provider=self.provider,
            model=self.model.partition("/")[2],
            messages=(),
            parameters=parameters,
            base_url=self.base_url,
            schema=schema,
            replicate=self.replicate,
        )

    def ask(
        self,
        questions: Iterable[Q],
        aspects: Sequence[str],
        scale: Scale,
        aliases: Mapping[str, Sequence[str]],
        settings: Judging,
        *,
        total: int,
    ) -> Generator[tuple[Q, Answer, Parsed | None]]:
        """Send questions, and yield each with its answer and what was read from it, as they come.

        Parameters
        ----------
        questions
            Taken one after the other as the work goes on.
        aspects
            All that are scored, by the positions of the questions.
        scale
            What an answer may be.
        aliases
            Aspect → other names under which a reply may give it.
        settings
            Store, limits and budget; what was done is added to its tallies.
        total
            How many questions there are, for the progress bar.
        """
        from metaeval.llm.calls.runner import RequestRun

        places: list[Q] = []
        prompts: dict[int, str] = {}  # of requests under way, as are the replies read
        read: dict[int, Parsed] = {}

        def requests() -> Iterator[Request]:
            for question in questions:
                prompts[len(places)] = joined(question.request.messages)
                places.append(question)
                yield question.request

        def usable(index: int, reply: Reply) -> bool:
            names = [aspects[a] for a in places[index].aspects]
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

        run = RequestRun(
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
            total=total,
        )
        try:
            for answer in run:
                question = places[answer.position]
                del prompts[answer.position]
                parsed = read.pop(answer.position, None) if answer.reply.error is None else None
                yield question, answer, parsed
        finally:
            settings.tallies.append(run.tally)
