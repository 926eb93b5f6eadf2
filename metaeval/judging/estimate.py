"""What asking judges would cost; nothing is sent."""

from __future__ import annotations

import contextlib
import functools
import itertools
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from metaeval.base.progress import progress
from metaeval.base.records import DataOfKind
from metaeval.llm.calls.limits import bound_of
from metaeval.llm.calls.price import OF_BATCH, Prices, cacheable, reply_limit, tokens_about
from metaeval.llm.prompts.template import joined, load_prompt
from metaeval.llm.providers import address_of, provider_named
from metaeval.llm.replies.fields import Field, Number, Text
from metaeval.llm.store.replies import Store

if TYPE_CHECKING:
    from metaeval.judging.model_evaluator import ModelEvaluator
    from metaeval.judging.outcome import Question
    from metaeval.judging.settings import JudgingOptions

Basis: TypeAlias = Literal["judge", "model", "guess"]

_BATCH = 250
_REPLIES_SEEN = 1_000  # of a model, at most
# Tokens of a reply, guessed: what JSON takes for an aspect, a reason before a score, and prose before all.
_OF_VALUE, _OF_REASON, _OF_PROSE = 12, 60, 150


@dataclass(frozen=True, slots=True)
class CallEstimate:
    """What asking one judge, or all, would cost."""

    judge: str
    requests: int
    """Number of different requests."""
    shared: int
    """Requests among them that a judge before it makes too."""
    in_store: int
    """Requests among the others whose reply is there already."""
    tokens: int
    """Approximate tokens of the other prompts."""
    reply_tokens: int
    """Approximate tokens of their replies."""
    basis: Basis
    """Source of that number: replies to this ``judge``, replies of its ``model``, or a ``guess``."""
    usd_likely: float | None
    """What they are likely to cost, one attempt each; None if the price is not known."""
    usd: float | None
    """What they cost at most, one attempt each; None if the price, or a reply's limit, is not known."""
    prompt: str
    """The prompt of the first request."""
    model: str = ""
    """The model that is asked, and where; empty for the sum over judges."""
    cached_tokens: int = 0
    """Those among ``tokens`` that are likely to come from the provider's cache."""
    batch_usd_likely: float | None = None
    """``usd_likely`` by batches; None too if the provider takes none."""
    batch_usd: float | None = None
    """``usd`` by batches."""

    @property
    def calls(self) -> int:
        """How many requests are to be sent."""
        return self.requests - self.shared - self.in_store


def estimates(
    judges: Sequence[ModelEvaluator],
    data: Sequence[DataOfKind],
    aspects: Sequence[str],
    options: JudgingOptions,
) -> list[CallEstimate]:
    """Return what asking some judges of all these data would cost.

    `MetaevalError` is raised if their budget cannot be kept.
    """
    with contextlib.ExitStack() as stack:
        place = options.place
        store = stack.enter_context(Store(place)) if judges and place.exists() else None
        advance = stack.enter_context(progress("estimating", len(judges)))
        estimator = _Estimator(data, aspects, options, store)
        found = []
        for judge in judges:
            found.append(estimator.of(judge))
            advance()
        return found


def total_of(found: Sequence[CallEstimate]) -> CallEstimate:
    """Return the sum over judges; unknown prices are left out, and a sum is None if none is known."""
    order: tuple[Basis, ...] = ("guess", "model", "judge")
    return CallEstimate(
        judge=f"all {len(found)} judges",
        requests=sum(e.requests - e.shared for e in found),
        shared=0,
        in_store=sum(e.in_store for e in found),
        tokens=sum(e.tokens for e in found),
        reply_tokens=sum(e.reply_tokens for e in found),
        basis=min((e.basis for e in found), key=order.index),
        usd_likely=_known(e.usd_likely for e in found),
        usd=_known(e.usd for e in found),
        prompt=found[0].prompt,
        cached_tokens=sum(e.cached_tokens for e in found),
        batch_usd_likely=_sum([e.batch_usd_likely for e in found]),
        batch_usd=_sum([e.batch_usd for e in found]),
    )


def _known(usd: Iterable[float | None]) -> float | None:
    known = [one for one in usd if one is not None]
    return sum(known) if known else None


def _sum(usd: Sequence[float | None]) -> float | None:
    known = [one for one in usd if one is not None]
    return sum(known) if len(known) == len(usd) else None


class _Estimator:
    def __init__(
        self,
        data: Sequence[DataOfKind],
        aspects: Sequence[str],
        options: JudgingOptions,
        store: Store | None,
    ) -> None:
        self._data, self._aspects, self._store = data, aspects, store
        self._prices, self._limited = Prices(options.prices), options.max_usd is not None
        self._above: set[str] = set()  # what the judges before it ask

    def of(self, judge: ModelEvaluator) -> CallEstimate:
        first: Question | None = None
        met: set[str] = set()  # what is equal is asked once
        warm: set[str] = set()  # groups of which a request is sent before
        seen: list[int] = []
        shared = in_store = tokens = in_cache = 0
        prompts: list[float | None] = []
        at_most: list[float | None] = []
        of_data = (judge.questions(part, self._aspects) for part in self._data)
        questions = itertools.chain.from_iterable(of_data)
        while asked := list(itertools.islice(questions, _BATCH)):
            first = first or asked[0]
            new = {q.request.key: q.request for q in asked if q.request.key not in met}
            met.update(new)
            found = self._store.get_many(new) if self._store else {}
            for key, request in new.items():
                reply = found.get(key)
                kept = reply is not None and reply.final
                if reply is not None and kept and reply.completion_tokens is not None:
                    seen.append(reply.completion_tokens)
                shared += key in self._above
                in_store += kept and key not in self._above
                if kept or key in self._above:
                    continue
                if self._limited and not tokens:
                    bound_of(request, self._prices)
                tokens += tokens_about(request)
                cached = cacheable(request) if request.group in warm else 0
                warm.add(request.group)
                in_cache += cached
                prompts.append(self._prices.about(request, 0, cached))
                at_most.append(self._prices.at_most(request))
        each, basis = self._reply_tokens(judge, first, seen)
        replies = (len(met) - shared - in_store) * each
        self._above |= met
        written = self._prices.about(first.request, each) if first else 0.0
        unwritten = self._prices.about(first.request, 0) if first else 0.0
        per_reply = None if written is None or unwritten is None else written - unwritten
        likely, most = (
            _sum([*prompts, None if per_reply is None else per_reply * len(prompts)]),
            _sum(at_most),
        )
        share = OF_BATCH if provider_named(judge.provider).batching else None
        return CallEstimate(
            judge=str(judge.spec),
            requests=len(met),
            shared=shared,
            in_store=in_store,
            tokens=tokens,
            reply_tokens=replies,
            basis=basis,
            usd_likely=likely,
            usd=most,
            batch_usd_likely=None if likely is None or share is None else likely * share,
            batch_usd=None if most is None or share is None else most * share,
            prompt=joined(first.request.messages) if first else "",
            model=" at ".join(filter(None, (judge.model, address_of(judge.provider, judge.base_url)))),
            cached_tokens=in_cache,
        )

    def _reply_tokens(
        self, judge: ModelEvaluator, first: Question | None, seen: Sequence[int]
    ) -> tuple[int, Basis]:
        """Return the tokens of one reply, and how they are known."""
        if seen:
            return round(statistics.fmean(seen)), "judge"
        if first is None:
            return 0, "guess"
        of_model = self._of_model(first.request.provider, first.request.model)
        if of_model is not None:
            return of_model, "model"
        return min(_guess(judge, first.fields), reply_limit(first.request) or _OF_PROSE * 100), "guess"

    @functools.cache  # noqa: B019 - an estimator does not outlive its estimates
    def _of_model(self, provider: str, model: str) -> int | None:
        """Return the mean tokens of a model's replies to other prompts; None if there are none."""
        if self._store is None:
            return None
        ((mean,),) = self._store.rows(
            "SELECT avg(n) FROM (SELECT completion_tokens AS n FROM replies WHERE provider = ? AND asked = ? "
            "AND error_kind IS NULL AND completion_tokens IS NOT NULL LIMIT ?) AS seen",
            (provider, model, _REPLIES_SEEN),
        )
        return None if mean is None else round(mean)


def _guess(judge: ModelEvaluator, fields: Sequence[Field]) -> int:
    usual = load_prompt(judge.prompt).reply[0] if judge.prompt else "json"
    form = usual if judge.reply == "auto" else judge.reply
    reasons = sum(isinstance(f, Text) or (isinstance(f, Number) and f.reason) for f in fields)
    prose = 0 if reasons or form == "json" else _OF_PROSE
    return len(fields) * _OF_VALUE + reasons * _OF_REASON + prose
