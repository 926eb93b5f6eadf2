"""What all evaluators that ask a language model share: settings, and the way from question to reply."""

from __future__ import annotations

import functools
import hashlib
import inspect
import logging
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, Self

from metaeval.base.counts import counted
from metaeval.base.errors import SpecError, shown, unknown
from metaeval.base.records import DataOfKind, Kind, Status
from metaeval.evaluators.base import BaseEvaluator, argument, integer, word
from metaeval.judging.cost import field_in_words, short
from metaeval.judging.outcome import Question, QuestionResult, result_of
from metaeval.judging.prompts import Asks, JudgePrompt
from metaeval.judging.reading import check_pattern, read_answer
from metaeval.llm.calls.price import context_of
from metaeval.llm.calls.request import Reply, Request
from metaeval.llm.prompts.template import load_prompt
from metaeval.llm.providers import address_of, provider_named
from metaeval.llm.providers.simulated import instructions, settings_of
from metaeval.llm.replies.fields import Field, json_schema
from metaeval.llm.replies.patterns import ReplyPattern
from metaeval.llm.replies.reader import FORMS, PARSER, Parsed

if TYPE_CHECKING:
    from metaeval.judging.models import NamedModel
    from metaeval.judging.settings import Judging

SIMULATED = "simulated"
_log = logging.getLogger("metaeval")
_SIGNED = ("seed", "temperature", "max_tokens", "replicate", "reply", "attempts")
_UNSIGNED = {"samples": 1, "expected": False}  # of no effect at these values


def _is_warmth(given: object) -> bool:
    if isinstance(given, bool) or not isinstance(given, int | float):
        return given is None
    return not given < 0


@dataclass(frozen=True, repr=False)
class ModelEvaluator(BaseEvaluator):
    """An evaluator that asks a language model.

    A subclass is decorated as this one is, and may add arguments of its own, which its signature then has. If
    its words are in a prompt file, ``asks`` says what that may show, and `fixed` what it always shows.

    Parameters
    ----------
    model
        ``provider/name``, such as ``openai/gpt-4o`` or ``dashscope/qwen-max``; or, in a spec, the short name
        of one of the study's ``models``. What the spec says overrides what the model says.
    prompt
        Name of a bundled prompt, or path of your own; empty if the judge has its words in its code. One with
        the placeholder ``aspect`` asks for one aspect per call, any other for all of them.
    temperature, max_tokens
        Of the model's sampling; the longest reply. None sends none.
    replicate
        Number of the repetition, to ask the same again on purpose.
    reply
        ``json`` (with the provider's schema check), ``text`` (values at the end of a reasoned answer), or
        ``auto``: the form that the prompt names first, without a schema.
    base_url
        Address of a compatible server; the environment's or the provider's own, if left out.
    attempts
        Number of calls at most until a reply can be read; 1 never asks again. A reply that was read is kept.
    seed
        Of all draws of the judge.
    """

    model: str
    prompt: str = ""
    _: KW_ONLY
    temperature: float | None = argument(0, (_is_warmth, "={value!r} must be a number, 0 or more"))
    replicate: int = integer(0, 0)
    reply: str = word("auto", FORMS)
    base_url: str | None = None
    attempts: int = integer(3, 1)
    max_tokens: int | None = integer(1024, 1, none=True)
    seed: int = integer(0, 0)
    kind: ClassVar[Kind] = Kind.JUDGE
    needs: ClassVar[str] = "a language model"
    asks: ClassVar[Asks] = Asks(sample={})
    _named: ClassVar[NamedModel | None] = None  # of the study, if the spec has the short name of one

    def __post_init__(self) -> None:
        """Raise `MetaevalError` for an argument that cannot be used."""
        super().__post_init__()
        if not isinstance(self.model, str) or not all(self.model.partition("/")):
            raise SpecError(
                f"{type(self).__name__} takes a model such as 'openai/gpt-4o', or the short name of one of "
                f"the study's models, not {self.model!r}"
            )
        provider_named(self.provider)
        if self.provider == SIMULATED:
            settings_of(self.model.partition("/")[2])  # what cannot be set is said before anything is asked

    @abstractmethod
    def questions(self, data: DataOfKind, aspects: Sequence[str]) -> Iterator[Question]:
        """Yield what is to be asked; nothing is sent."""

    @abstractmethod
    def reply_fields(self, data: DataOfKind, aspects: Sequence[str]) -> Sequence[Field]:
        """Return the fields of one reply: one per aspect, and further ones."""

    @classmethod
    def built_with(cls, models: Mapping[str, NamedModel], **arguments: Any) -> Self:  # noqa: ANN401 - its own
        """Return the judge of a spec, whose model may be the short name of one of the models.

        Raises
        ------
        SpecError
            If the model is neither provider/name nor a short name.
        """
        name = arguments["model"]
        if not isinstance(name, str) or "/" in name:
            return cls(**arguments)
        if name not in models:
            raise SpecError(unknown(f"{cls.__name__}: there is no model", name, models, "models"))
        named = models[name]
        judge = cls(**{**named.arguments, **arguments, "model": named.model})
        object.__setattr__(judge, "_named", named)
        return judge

    @property
    def provider(self) -> str:
        """What stands before the first slash of the model."""
        return self.model.partition("/")[0]

    @property
    def parameters(self) -> dict[str, Any]:
        """What is sent beside the messages: settings as the server names them."""
        own: dict[str, Any] = {"temperature": self.temperature, "max_tokens": self.max_tokens}
        return {**{k: v for k, v in own.items() if v is not None}, **self._of_model}

    @property
    def stated(self) -> frozenset[str]:
        """Names of the settings that the user wrote, in the spec or of its model; the others are defaults."""
        written = {*self.spec.kwargs, *(self._named.arguments if self._named else ()), *self._of_model}
        return frozenset("response_format" if name == "reply" else name for name in written)

    @functools.cached_property
    def pattern(self) -> ReplyPattern | None:
        """How its replies are read, where its model or its prompt states it; simulated replies are JSON."""
        if self.provider == SIMULATED:
            return None
        of_model = self._named.reply if self._named else None
        return of_model or (load_prompt(self.prompt).pattern if self.prompt else None)

    @property
    def _of_model(self) -> dict[str, Any]:
        """The parameters that a judge has no argument for."""
        return self._named.parameters if self._named else {}

    @property
    def context(self) -> int | None:
        """How many tokens the model takes, prompt and reply together; None if not known."""
        if self._named and self._named.context is not None:
            return self._named.context
        address = address_of(self.provider, self.base_url)
        return context_of(self.model.partition("/")[2], address) if address else None

    def fixed(self, data: DataOfKind, aspects: Sequence[str]) -> Mapping[str, object]:
        """Return the values of the prompt's placeholders that are the same for all units."""
        del data, aspects
        return {}

    @property
    def simulation(self) -> Mapping[str, object]:
        """How a simulated model answers; see ``instructions`` in `metaeval.llm.providers.simulated`."""
        return {}

    def signature(self, data: DataOfKind) -> Mapping[str, Any]:
        """Return model, address, prompt with its hash, all settings and the version of the parser."""
        del data
        shared = {field.name for field in fields(ModelEvaluator)}
        own = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in shared}
        return {
            "model": self.model,
            "address": address_of(self.provider, self.base_url),
            "prompt": load_prompt(self.prompt).signature if self.prompt else _in_code(type(self)),
            **{name: getattr(self, name) for name in _SIGNED},
            **({"parameters": self._of_model} if self._of_model else {}),
            "parser": PARSER,
            **({"pattern": self.pattern.facts} if self.pattern else {}),
            **({SIMULATED: True} if self.provider == SIMULATED else {}),
            **{
                name: list(value) if isinstance(value, tuple) else value
                for name, value in own.items()
                if name not in _UNSIGNED or value != _UNSIGNED[name]
            },
        }

    def parts(self, data: DataOfKind, aspects: Sequence[str]) -> list[tuple[int, ...]]:
        """Return the positions of the aspects that each call is about."""
        del data
        every = tuple(range(len(aspects)))
        alone = bool(self.prompt) and "aspect" in load_prompt(self.prompt).placeholders
        return [(a,) for a in every] if alone else [every]

    def bare_requests(
        self, data: DataOfKind, aspects: Sequence[str]
    ) -> dict[tuple[int, ...], tuple[Sequence[Field], Request]]:
        """Return the fields of each of the `parts`, and a request without messages."""
        wanted = {p: self.reply_fields(data, [aspects[a] for a in p]) for p in self.parts(data, aspects)}
        if pattern := self.pattern:
            for of_part in wanted.values():
                check_pattern(pattern, of_part)
        return {part: (of_part, self._bare_request(of_part)) for part, of_part in wanted.items()}

    def _bare_request(self, wanted: Sequence[Field]) -> Request:
        parameters, schema = self.parameters, None
        if self.provider == SIMULATED:
            told = instructions(wanted, with_schema=self.reply != "text", **self.simulation)
            parameters |= {"simulate": told} if told else {}
        if self.reply == "json" or (self.provider == SIMULATED and self.reply != "text"):
            schema = json_schema(wanted)
        return Request(
            provider=self.provider,
            model=self.model.partition("/")[2],
            messages=(),
            parameters=parameters,
            base_url=self.base_url,
            schema=schema,
            replicate=self.replicate,
            stated=self.stated,
        )

    def filled(
        self,
        data: DataOfKind,
        aspects: Sequence[str],
        shared: Callable[[Any], Mapping[str, object] | None] = lambda _: {},
    ) -> JudgePrompt:
        """Return the prompt for a call about these aspects; ``shared``: see `JudgePrompt`."""
        fixed = self.fixed(data, aspects)
        return JudgePrompt(self.asks, load_prompt(self.prompt), fixed, shared, reply=self.reply)

    def weighed(self, question: Question, reply: Reply, parsed: Parsed) -> Parsed:
        """Return what was read of the last reply to a question, as this judge takes it."""
        del question, reply
        return parsed

    def ask(
        self, questions: Iterable[Question], settings: Judging, *, total: int
    ) -> Generator[tuple[Question, QuestionResult]]:
        """Send questions, and yield each with its reply, as they come.

        Parameters
        ----------
        questions
            Consumed one by one as the work goes on.
        settings
            Store, limits and budget.
        total
            Number of questions, for the progress bar.
        """
        from metaeval.llm.calls.runner import RequestRun

        under_way: dict[int, Question] = {}
        read: dict[int, Parsed] = {}  # of replies under way

        def requests() -> Iterator[Request]:
            for place, question in enumerate(questions):
                under_way[place] = question
                yield question.request

        def usable(index: int, reply: Reply) -> bool:
            question = under_way[index]
            parsed = read_answer(question, reply, self.reply, self.pattern)
            read[index] = self.weighed(question, reply, parsed)
            return parsed.status is Status.OK

        name = settings.names.get(str(self.spec), str(self.spec))

        def unread(index: int, reply: Reply) -> str:
            asked = "; ".join(map(field_in_words, under_way[index].fields))
            asked += f", by the pattern {self.pattern.pattern}" if self.pattern else ""
            can, mend = "read", "Mend the server, the prompt or the form of the reply"
            if read[index].status is Status.UNWEIGHED:
                can, mend = "weighed", "Leave expected out, or name a model whose server tells probabilities"
                asked += ", and the probabilities of its tokens (logprobs), which expected=True needs"
            such = f"{shown(short(reply.refusal or reply.text))} ({read[index].reason})"
            return (
                f"none of the first {settings.limits.stop_unread:,} replies to {name} can be {can}, such as "
                f"{such}; asked for was {asked}. {mend}, or write judging: {{stop_unread: 0}} to go on"
            )

        run = RequestRun(
            requests(),
            settings.store,
            settings.loop,
            usable=usable,
            attempts=self.attempts,
            unread=unread,
            weak=lambda index, _: read[index].status is Status.UNWEIGHED,
            offline=settings.offline,
            instead=settings.instead,
            description=name,
            total=total,
        )
        reasons = Counter[str]()
        try:
            for answer in run:
                question = under_way.pop(answer.position)
                parsed = read.pop(answer.position, None) if answer.reply.error is None else None
                if parsed is not None:
                    reasons.update([parsed.reason] if parsed.status is not Status.OK else ())
                yield question, result_of(answer, parsed, settings.prices)
        finally:
            if reasons:
                count = counted(reasons.total(), "reply", "replies")
                (most, _), *_ = reasons.most_common(1)
                _log.warning("metaeval: %s to %s could not be read, mostly: %s", count, name, most)


@functools.cache
def _in_code(judge: type[ModelEvaluator]) -> dict[str, str]:
    """Return what is known of the prompt of a judge that has its words in its code."""
    try:
        text = inspect.getsource(judge)
    except (OSError, TypeError):  # typed into Python itself
        return {"name": judge.__name__}
    return {"name": judge.__name__, "sha256": hashlib.sha256(text.encode()).hexdigest()}
