"""Send a request, with retries; give up on a request, or on a model that answers or takes none."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import random
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from metaeval.base.errors import FOREIGN, KEPT, MetaevalError, StoppedError
from metaeval.llm.calls.address import Address, Where
from metaeval.llm.calls.breaker import Breaker
from metaeval.llm.calls.client import (
    TOO_MANY,
    CallError,
    Client,
    DeniedError,
    RejectedError,
    RetryableError,
    client_for,
)
from metaeval.llm.calls.limits import Budget, Limits, Purse, nano, wait_before
from metaeval.llm.calls.price import Prices, reply_limit, tokens_about
from metaeval.llm.calls.request import CallFailure, Reply, Request, canonical
from metaeval.llm.calls.terms import Terms
from metaeval.llm.providers import Connection

if TYPE_CHECKING:
    from metaeval.llm.store.replies import StudyShares

ModelAt: TypeAlias = tuple[str, str, str]
"""Provider, model and address."""

_DENIED_AT_MOST = 3  # refusals in a row that say the next one comes too: key, model, account
_REJECTED_AT_MOST = {False: 10, True: 30}  # alike in a row, by whether the model ever answered
_CLOSE_SECONDS = 1.0


@dataclass(slots=True)
class Tally:
    """Counts of a run so far."""

    failed: int = 0
    """Requests without a usable reply, those that the budget did not allow included."""
    from_store: int = 0
    """Requests whose replies were in the store before; repetitions of a request of this run do not count."""
    calls: int = 0
    """Requests sent, repeated ones included."""
    usd: float = 0.0
    """Cost of the replies of this run, as far as it is known."""
    unpriced: int = 0
    """Replies whose cost is not known."""
    models: set[ModelAt] = field(default_factory=set)
    """Who was asked."""

    def note(self, seconds: float, waiting: str = "") -> str:
        """Return the counts after some seconds in a few words, and what the requests wait for."""
        spent = f"{self.usd:.2f} USD" if not self.unpriced else "price unknown"
        # What is waited for comes first: a narrow terminal cuts the end.
        return (
            f"{waiting and f'{waiting}; '}{self.failed:,} failed, {self.from_store:,} from store, "
            f"{self.calls / max(seconds, 1e-3):,.1f} calls/s, {spent}"
        )


@dataclass(slots=True)
class _Failures:
    """Of requests with the same settings: what is wrong with those of one judge may be right for others."""

    in_a_row: int = 0
    last: CallError | None = None
    stopped: StoppedError | None = None

    def note(self, error: CallError) -> int:
        """Return how many failures in a row were like this one."""
        same = self.last is not None and (type(self.last), self.last.code) == (type(error), error.code)
        self.in_a_row, self.last = self.in_a_row + 1 if same else 1, error
        return self.in_a_row


@dataclass(slots=True)
class _Model:
    address: Address
    breaker: Breaker
    terms: Terms
    failures: dict[str, _Failures] = field(default_factory=dict)
    last: CallError | None = None
    stopped: StoppedError | None = None

    def of(self, request: Request) -> _Failures:
        """Return the failures of requests with these settings."""
        return self.failures.setdefault(request.settings, _Failures())


@dataclass(eq=False)
class Caller:
    """Sends the requests of all runs in one event loop, within limits and budget.

    Parameters
    ----------
    clients
        Makes the client of a connection; called once for a provider and address.
    limits, at
        The limits of each address, and those of addresses that have others.
    budget, prices
        Of all runs together.
    shares
        What budget and limits per minute are leased from, if several processes keep to them together.
    terms
        What each model at an address is known to take.
    clock, sleep, draw
        Return the time in seconds; wait; return a random number from 0 to 1. Tests pass their own.
    """

    _: KW_ONLY
    clients: Callable[[Connection], Client] = client_for
    limits: Limits = field(default_factory=Limits)
    at: Mapping[Where, Limits] = field(default_factory=dict)
    budget: Budget = field(default_factory=Budget)
    prices: Prices = field(default_factory=Prices)
    shares: StudyShares | None = None
    terms: dict[ModelAt, Terms] = field(default_factory=dict)
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    draw: Callable[[], float] = random.random

    def __post_init__(self) -> None:
        self._purse = Purse(self.budget, self.prices, self.shares)
        self._addresses: dict[Where, Address] = {}
        self._models: dict[ModelAt, _Model] = {}
        self._stopped: BaseException | None = None

    async def call(self, request: Request, since: float, tally: Tally) -> Reply:
        """Return the reply to a request, taken up at a time; its ``error`` says why there is none.

        Each time that it is sent counts in ``tally``.

        Raises
        ------
        StoppedError
            If the model answers no request, or takes none.
        MetaevalError
            If the model refuses a setting that the request states.
        """
        key = (request.provider, request.model, request.address)
        tally.models.add(key)
        model = self._models.get(key) or self._met(key, request)
        left, retry = self.limits.call_seconds, 0
        last: CallError | None = None
        while True:
            limited = retry if last is not None and last.status == TOO_MANY else 0
            async with model.breaker.place(fresh=last is None, limited=limited) as seconds:
                self._check_stopped(request, model)
                if not seconds:
                    if last is None or last.code == "connect":
                        raise self._stop(model, self._silent(request, model))
                    return self._given_up(request, model, last)
                silent = model.breaker.silent
                outcome, took = await self._send(request, model, min(seconds, left), since, tally)
                if isinstance(outcome, Reply):
                    return outcome
                if outcome is None:  # a parameter was refused: it is asked without
                    continue
                last = outcome
                asked = outcome.retry_after if isinstance(outcome, RetryableError) else None
                if not isinstance(outcome, RetryableError) or (asked or 0.0) > self.limits.patience_seconds:
                    return self._given_up(request, model, outcome)
                wait = wait_before(retry, outcome, self.draw())
                if not (silent and outcome.code == "connect"):  # else no one was there, and nothing was sent
                    left -= took + wait
                    # At its limit a model takes a call by chance, if it answers: twice the tries.
                    chance = outcome.status == TOO_MANY and model.breaker.answered
                    if retry == self.limits.retries * (1 + chance) or left <= 0:
                        return self._given_up(request, model, outcome)
                    retry += 1
            # A silent model's pauses are the breaker's; here the others get their turn, but at a limit.
            if not model.breaker.silent:
                await self.sleep(wait)
            elif outcome.status != TOO_MANY:
                await asyncio.sleep(0)

    def stop(self, error: BaseException) -> None:
        """Send nothing more, for any run; requests that wait raise the error."""
        self._stopped = error
        for model in self._models.values():
            model.breaker.end()

    def note(self, models: Iterable[ModelAt]) -> str:
        """Return what requests to some models wait for, in a few words; may be called from another thread."""
        asked = [self._models[m] for m in tuple(models) if m in self._models]
        notes = [model.breaker.note() for model in asked]
        notes += [f"{n} held back by the limits per minute" for m in asked if (n := m.address.held_back)]
        return next(filter(None, notes), "")

    async def close(self) -> None:
        """Close all connections, and give back what is left of a shared budget; it may then be used again."""
        with contextlib.suppress(MetaevalError, TimeoutError):  # the store cannot be used: the run says so
            await asyncio.wait_for(self._purse.close(), _CLOSE_SECONDS)
        for address in self._addresses.values():
            with contextlib.suppress(TimeoutError):  # do not wait for a server that does not close
                await asyncio.wait_for(address.client.close(), _CLOSE_SECONDS)
        self._addresses, self._models, self._stopped = {}, {}, None

    def check(self, models: Iterable[ModelAt]) -> None:
        """Raise `StoppedError` if one of some models answered nothing and its last failure is permanent."""
        for key in models:
            (provider, name, _), model = key, self._models[key]
            last = model.last
            if (
                not model.breaker.answered
                and last
                and (isinstance(last, DeniedError) or last.code == "connect")
            ):
                raise _stopped(f"{provider}/{name}", "answers no call", last)

    async def _send(
        self, request: Request, model: _Model, seconds: float, since: float, tally: Tally
    ) -> tuple[Reply | CallError | None, float]:
        """Send a request once; return what came, None if a parameter was refused, and the seconds it took."""
        async with model.terms.turn(request) as variant:
            outcome, took = await self._pay(variant.request, model, seconds, since, tally)
            if isinstance(outcome, Reply):
                if outcome.error is not None:
                    model.breaker.unsent()
                    return outcome, took
                model.terms.answered(request)
                model.breaker.answer()
                model.of(request).in_a_row = 0
                return outcome._replace(sent=canonical(variant.changes) if variant.changes else ""), took
            try:
                refused = model.terms.refused(request, variant, outcome)
            except MetaevalError as error:
                self.stop(error)  # at once: others are about to send
                raise
            if isinstance(outcome, RetryableError) and not refused:
                model.breaker.fail(request.key, outcome, self.clock() - took)
            else:
                model.breaker.refuse()
            return None if refused else outcome, took

    async def _pay(
        self, request: Request, model: _Model, seconds: float, since: float, tally: Tally
    ) -> tuple[Reply | CallError, float]:
        """Send a request as it is, within the budget."""
        reserved = await self._purse.reserve(request)
        if reserved is None:
            return Reply(error=CallFailure("budget", self._purse.empty)), 0.0
        tally.calls += 1
        spent = 0
        try:
            estimate = tokens_about(request) + (reply_limit(request) or 0)
            await model.address.turn(estimate)
            self._check_stopped(request, model)
            spent = reserved  # if this ends by an exception, the call may have been charged
            sent = self.clock()
            outcome = await self._try(model.address.client, request, seconds)
            took = self.clock() - sent
            if isinstance(outcome, CallError):
                # A lost call may be charged, so it counts as the most that it can cost.
                spent = reserved if outcome.sent else 0
                return outcome, took
            cost = self.prices.cost(request, outcome)
            spent = reserved if cost is None else nano(cost)
            if outcome.prompt_tokens is not None:
                model.address.used(outcome.prompt_tokens + (outcome.completion_tokens or 0) - estimate)
            return outcome._replace(queue_seconds=sent - since, service_seconds=took), took
        finally:
            self._purse.settle(request, reserved, spent)

    async def _try(self, client: Client, request: Request, seconds: float) -> Reply | CallError:
        seconds = max(min(self.limits.reply_seconds, seconds), 0.0)
        try:
            async with asyncio.timeout(seconds):
                return await client.complete(request)
        except CallError as error:
            return error
        except TimeoutError:
            return RetryableError(f"no reply within {seconds:.3g} seconds", "timeout", sent=True)
        except MetaevalError:
            raise
        except FOREIGN as error:  # whatever a client does is a failed call, not a broken run
            return RejectedError(f"{type(error).__name__}: {error}", "unexpected", sent=True)

    def _given_up(self, request: Request, model: _Model, error: CallError) -> Reply:
        alike, denied = model.of(request), isinstance(error, DeniedError)
        in_a_row, model.last = alike.note(error), error
        most = _DENIED_AT_MOST if denied else _REJECTED_AT_MOST[model.breaker.answered]
        if not isinstance(error, RetryableError) and not error.too_long and in_a_row >= most:
            alike.stopped = _stopped(request.name, "takes no call", error)
            raise self._stop(model, alike.stopped) if denied else alike.stopped
        limit = f"; {model.breaker.limit}" if error.status == TOO_MANY else ""
        return Reply(error=CallFailure(error.kind, f"{error}{limit}", error.code))

    def address(self, request: Request) -> Address:
        """Return the address that a request is sent to."""
        where = (request.provider, request.address)
        if where not in self._addresses:
            limits = self.at.get(where, self.limits)
            client = self.clients(Connection(*where, limits.reply_seconds))
            lease = None if self.shares is None else functools.partial(self.shares.lease, *where)
            self._addresses[where] = Address(client, limits, self.clock, self.sleep, lease)
        return self._addresses[where]

    def _met(self, key: ModelAt, request: Request) -> _Model:
        address = self.address(request)
        breaker = Breaker(self.limits.patience_seconds, self.clock, self.sleep, network=bool(request.address))
        if self._stopped is not None:
            breaker.end()
        if key not in self.terms:
            self.terms[key] = Terms(json_object=getattr(address.client, "json_object", False))
        self._models[key] = _Model(address, breaker, self.terms[key])
        return self._models[key]

    def _check_stopped(self, request: Request, model: _Model) -> None:
        if stopped := self._stopped or model.stopped or model.of(request).stopped:
            raise stopped

    def _stop(self, model: _Model, error: StoppedError) -> StoppedError:
        model.stopped = error  # at once: others are about to send
        model.breaker.end()
        return error

    def _silent(self, request: Request, model: _Model) -> StoppedError:
        breaker, patience = model.breaker, self.limits.patience_seconds
        assert breaker.error is not None  # noqa: S101 - nothing is silent without a failure
        what = "stopped answering" if breaker.answered else "answers no call"
        if breaker.impatient:
            asked = f"it asks to wait {breaker.asked:.0f} s"
            why = f"{asked}, and `judging.patience_seconds` is {patience:g}"
        else:
            why = f"{breaker.tries} calls failed in {breaker.seconds:.0f} s"
            if breaker.error.status == TOO_MANY:
                why += f"; {breaker.limit}"
            if breaker.error.code == "timeout":
                why += f"; if it is slow, raise `judging.reply_seconds` ({self.limits.reply_seconds:g})"
        return _stopped(request.name, what, breaker.error, why)


def _stopped(model: str, what: str, error: CallError, why: str = "") -> StoppedError:
    message = f"{str(error).rstrip('.')}" + (f" ({why})" if why else "")
    return StoppedError(f"{model} {what} ({error.code}): {message}{KEPT}")
