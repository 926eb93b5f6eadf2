"""One request, sent until there is a reply or no hope of one; and when to give up on all of them."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from metaeval.errors import StoppedError
from metaeval.llm.client import CallError, DeniedError, RejectedError, RetryableError
from metaeval.llm.limits import Gate, Limits, Pace, Purse, wait_before
from metaeval.llm.price import Prices, reply_limit, tokens_about
from metaeval.llm.providers import Connection
from metaeval.llm.request import CallFailure, Reply

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from metaeval.llm.client import Client
    from metaeval.llm.request import FailureKind, Request

_DENIED_AT_MOST = 3  # refusals in a row that say the next one comes too: key, model, account
_UNREACHED_AT_MOST = 3  # requests in a row that found no server, if none ever did
_REJECTED_AT_MOST = 10  # requests in a row that would not do, if none ever did
_CLOSE_SECONDS = 1.0


@dataclass(slots=True)
class _Model:
    """What is known of a model at an address."""

    client: Client
    gate: Gate = field(default_factory=Gate)
    answered: bool = False
    given_up: int = 0
    in_a_row: int = 0
    last: CallError | None = None


class Caller:
    """Sends requests within limits and budget, for one event loop.

    Parameters
    ----------
    clients
        Makes the client of a connection; called once for a provider and address.
    clock, sleep, draw
        Seconds, waiting, and a random number from 0 to 1: given so that tests can do without real time.
    """

    def __init__(
        self,
        clients: Callable[[Connection], Client],
        limits: Limits,
        purse: Purse,
        prices: Prices,
        *,
        clock: Callable[[], float],
        sleep: Callable[[float], Awaitable[None]],
        draw: Callable[[], float],
    ) -> None:
        self._make, self._limits, self._purse, self._prices = clients, limits, purse, prices
        self._clock, self._sleep, self._draw = clock, sleep, draw
        self._requests = Pace(limits.requests_per_minute)
        self._tokens = Pace(limits.tokens_per_minute)
        self._clients: dict[tuple[str, str], Client] = {}
        self._models: dict[tuple[str, str, str], _Model] = {}
        self._stopped: BaseException | None = None

    async def call(self, request: Request, since: float) -> Reply:
        """Return the reply to a request; its ``error`` says why there is none.

        Parameters
        ----------
        since
            When the request was taken up, by the clock.

        Raises
        ------
        StoppedError
            If it is plain that no request to this model will be answered.
        """
        model = self._model(request)
        await model.gate.enter()
        left = self._limits.call_seconds
        retry = 0
        while True:
            if self._stopped is not None:
                raise self._stopped
            reserved = await self._purse.reserve(request)
            if reserved is None:
                model.gate.open()
                return Reply(error=CallFailure("budget", self._purse.empty))
            estimate = tokens_about(request) + (reply_limit(request) or 0)
            await self._wait_for_place(estimate)
            sent = self._clock()
            outcome = await self._try(model.client, request, left)
            took = self._clock() - sent
            if isinstance(outcome, Reply):
                self._settle(request, outcome, reserved, estimate)
                model.answered, model.in_a_row = True, 0
                model.gate.open()
                return outcome._replace(queue_seconds=sent - since, service_seconds=took)
            # A lost call may be charged all the same, so it counts for what it can cost at most.
            self._purse.settle(reserved, reserved if outcome.sent else 0.0)
            if not isinstance(outcome, RetryableError):
                return self._given_up(request, model, outcome)
            if outcome.code != "connect":
                model.gate.open()
            wait = wait_before(retry, outcome, self._draw())
            left -= took + wait
            if retry == self._limits.retries or left <= 0:
                return self._given_up(request, model, outcome)
            retry += 1
            await self._sleep(wait)

    def stop(self, error: BaseException) -> None:
        """Send nothing more; whoever waits to send gets the error."""
        self._stopped = error
        for model in self._models.values():
            model.gate.open()

    @property
    def calls(self) -> int:
        """How many requests were sent, repeated ones included."""
        return self._purse.calls

    async def close(self) -> None:
        """Give all connections back."""
        for client in self._clients.values():
            with contextlib.suppress(TimeoutError):  # a server that does not say goodbye keeps nobody waiting
                await asyncio.wait_for(client.close(), _CLOSE_SECONDS)

    def check(self) -> None:
        """Raise `StoppedError` if a model never answered, and never will; for the end of a run."""
        for (provider, name, _), model in self._models.items():
            last = model.last
            if not model.answered and last and (isinstance(last, DeniedError) or last.code == "connect"):
                raise _stop(f"{provider}/{name}", last)

    async def _try(self, client: Client, request: Request, left: float) -> Reply | CallError:
        seconds = min(self._limits.reply_seconds, left)
        try:
            async with asyncio.timeout(max(seconds, 0.0)):
                return await client.complete(request)
        except CallError as error:
            return error
        except TimeoutError:
            return RetryableError(f"no reply within {seconds:.3g} seconds", "timeout", sent=True)

    async def _wait_for_place(self, tokens: int) -> None:
        now = self._clock()
        wait = max(self._requests.reserve(now), self._tokens.reserve(now, tokens))
        if wait > 0:
            await self._sleep(wait)

    def _settle(self, request: Request, reply: Reply, reserved: float, estimate: int) -> None:
        cost = self._prices.cost(request, reply)
        self._purse.settle(reserved, reserved if cost is None else cost)
        if reply.prompt_tokens is not None:
            self._tokens.correct(reply.prompt_tokens + (reply.completion_tokens or 0) - estimate)

    def _given_up(self, request: Request, model: _Model, error: CallError) -> Reply:
        name = f"{request.provider}/{request.model}"
        same = model.last is not None and (type(model.last), model.last.code) == (type(error), error.code)
        model.in_a_row = model.in_a_row + 1 if same else 1
        model.last = error
        model.given_up += 1
        denied = isinstance(error, DeniedError) and model.in_a_row >= _DENIED_AT_MOST
        unreached = error.code == "connect" and model.in_a_row >= _UNREACHED_AT_MOST
        rejected = isinstance(error, RejectedError) and model.in_a_row >= _REJECTED_AT_MOST
        if denied or (not model.answered and (unreached or rejected)):
            raise _stop(name, error)
        if model.given_up >= _DENIED_AT_MOST:
            model.gate.open()  # those that were let through are done, so nobody else would open it
        kind: FailureKind = "transport"
        if isinstance(error, (DeniedError, RejectedError)):
            kind = "denied" if isinstance(error, DeniedError) else "rejected"
        return Reply(error=CallFailure(kind, str(error), error.code))

    def _model(self, request: Request) -> _Model:
        key = (request.provider, request.model, request.address)
        if key not in self._models:
            place = (request.provider, request.address)
            if place not in self._clients:
                limits = (self._limits.connect_seconds, self._limits.reply_seconds)
                self._clients[place] = self._make(Connection(*place, *limits))
            self._models[key] = _Model(self._clients[place])
        return self._models[key]


def _stop(model: str, error: CallError) -> StoppedError:
    return StoppedError(
        f"{model} answers no call ({error.code}): {str(error).rstrip('.')}; what was answered is kept, and "
        f"the same command goes on from there"
    )
