"""The batches of a run: whatever was sent is found again and collected, and what is missing is sent."""

from __future__ import annotations

import contextlib
import secrets
import tempfile
import time
from collections.abc import Collection, Iterator
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Self

from metaeval.base.counts import counted
from metaeval.base.errors import StoppedError
from metaeval.base.progress import progress
from metaeval.llm.batch.collect import (
    DRAFT,
    ENDED,
    LIMITED,
    SENT,
    UNDER_WAY,
    Batch,
    Ledger,
    collect,
    failure,
    model_of,
)
from metaeval.llm.batch.endpoint import Endpoint, FullError
from metaeval.llm.calls.client import DeniedError, RejectedError
from metaeval.llm.calls.limits import Budget, Limits, bound_of, nano
from metaeval.llm.calls.price import OF_BATCH, Prices
from metaeval.llm.calls.request import Reply, Request, canonical
from metaeval.llm.calls.terms import Terms, changes_in

if TYPE_CHECKING:
    from metaeval.llm.calls.caller import ModelAt
    from metaeval.llm.store.replies import Store

_POLL_SECONDS = 20.0
_BUSY = 60.0  # seconds to wait for another process that sends or collects
_LISTED = 180.0  # seconds after which a batch is in the provider's list at the latest
_AT_ONCE = 250  # requests that are noted at once
_PENDING = failure("budget", "its reply will come by batch", "batch")


class Draft:
    """A file of requests that grows until it is as large as the provider takes, and then is a batch."""

    def __init__(self, ledger: Ledger, endpoint: Endpoint, batch: Batch, most: int) -> None:
        self._ledger, self._endpoint = ledger, endpoint
        self._most = min(most, endpoint.takes.requests)
        self.batch = ledger.note(batch)
        self.requests = self._nano = self._bytes = 0
        self._new: list[tuple[Request, str]] = []
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `close`

    def fits(self, line: bytes) -> bool:
        """Say whether there is room for one more line."""
        return self.requests < self._most and self._bytes + len(line) <= self._endpoint.takes.file_bytes

    def add(self, request: Request, sent: str, line: bytes, nano: int) -> None:
        """Add a request, with what is sent otherwise of it, which costs some nano-dollars at most."""
        self._file.write(line)
        self._new.append((request, sent))
        self.requests += 1
        self._nano += nano
        self._bytes += len(line)
        if len(self._new) == _AT_ONCE:
            self._note()

    def send(self) -> None:
        """Make a batch of it; raise `CallError` if that fails: the ledger says what may have happened."""
        self._note()
        batch = self._ledger.note(self.batch._replace(requests=self.requests, usd=self._nano / 1e9))
        self._file.seek(0)
        file = self._endpoint.upload(batch.name, self._file)
        # From here on there may be a batch, whatever the answer is, unless it says that the request is wrong.
        asked = self._ledger.note(batch._replace(file=file, id=repr(time.time())))
        try:
            made = self._endpoint.create(batch.name, file)
        except (RejectedError, DeniedError):
            self._ledger.note(asked._replace(id=""))
            raise
        self._ledger.note(asked._replace(state=SENT, id=made))

    def close(self) -> None:
        """Give the space of the file back."""
        self._file.close()

    def _note(self) -> None:
        self._ledger.add(self.batch, self._new)
        self._new = []


class Sender:
    """Takes requests one by one, and sends them as batches."""

    def __init__(self, batches: Batches) -> None:
        self._batches, self._ledger, self._budget = batches, batches.ledger, batches.budget
        known = self._ledger.batches(DRAFT, *UNDER_WAY, ENDED, LIMITED)
        self._most = {model_of(b): b.requests for b in known if b.state == LIMITED}
        self._full = {model_of(b) for b in known if b.state in UNDER_WAY} & self._most.keys()
        ours = [b for b in known if b.run == batches.run and b.state != LIMITED]
        self._calls = sum(b.requests for b in ours)
        self._nano = sum(nano(b.usd) for b in ours)
        for batch in known:
            self._terms_at(model_of(batch), self._batches.endpoint(batch)).know(changes_in(batch.changes))
        self._drafts: dict[ModelAt, Draft] = {}
        self.to_come: set[str] = set()
        """Keys of requests whose replies are outstanding."""
        self.unsent = 0
        """Requests among them that are in no batch yet, for lack of room or of budget."""
        self.empty = ""
        """Which part of the budget leaves no room, as a sentence; empty if none does."""

    def take(self, request: Request) -> Reply:
        """Put a request into a batch, unless it is in one; return that its reply is outstanding.

        If it is given up, the failure that the store has is returned.
        """
        if request.key in self.to_come:
            return _PENDING
        batch, tries = self._ledger.known(request.key) or ("", 0)
        if not batch:
            endpoint = self._batches.endpoint(request)
            terms = self._terms_at(model_of(request), endpoint)
            before = self._batches.store.get(request.key) if tries else None
            if before and not before.final and not self._again(request, before, tries, terms):
                return before
            if lost := self._add(request, terms, endpoint):
                return lost
        self.to_come.add(request.key)
        return _PENDING

    @property
    def stuck(self) -> bool:
        """Whether nothing changes by waiting."""
        return bool(self.empty) and len(self.to_come) == self.unsent

    def outstanding(self) -> str:
        """Return what a round left to be done, in words."""
        sent, under_way = len(self.to_come) - self.unsent, len(self._ledger.batches(*UNDER_WAY))
        said = []
        if sent:
            come = counted(sent, "reply is outstanding", "replies are outstanding")
            said.append(f"{come} from {counted(under_way, 'batch', 'batches')}, within 24 hours")
        if self.unsent:
            why = self.empty or "the provider takes no more now"
            said.append(f"{counted(self.unsent, 'call is', 'calls are')} not sent yet: {why}")
        return "; ".join(said)

    def send(self) -> None:
        """Send what waits for more."""
        for model in list(self._drafts):
            self._send(model)

    def close(self) -> None:
        """Leave what was not sent."""
        for draft in self._drafts.values():
            draft.close()

    def _again(self, request: Request, failure: Reply, tries: int, terms: Terms) -> bool:
        """Say whether a request that failed is sent again: otherwise, or since the failure may pass."""
        if terms.learn(request, failure):
            return True
        passing = failure.error is not None and failure.error.kind == "transport"
        return passing and tries <= self._batches.limits.retries

    def _add(self, request: Request, terms: Terms, endpoint: Endpoint) -> Reply | None:
        """Add a request to a draft, if there is room; return a failure if no batch can take it."""
        variant = terms.variant(request)
        line = endpoint.line(variant.request, request.key)
        if len(line) > endpoint.takes.line_bytes:
            said = f"a batch takes {endpoint.takes.line_bytes // 1_000_000} MB per request"
            return self._batches.store.put(request, failure("rejected", said, "413"))
        model, price = model_of(request), self._bound(request)
        draft = self._drafts.get(model)
        if draft is not None and not draft.fits(line):
            self._send(model)
            draft = None
        if model in self._full or not self._affords(price):
            self.unsent += 1
            return None
        if draft is None:
            name, changes = f"{self._batches.run}-{secrets.token_hex(8)}", canonical(terms.changes)
            batch = Batch(name, self._batches.run, *model, DRAFT, 0, 0.0, changes)
            draft = Draft(self._ledger, endpoint, batch, self._most.get(model, endpoint.takes.requests))
            self._drafts[model] = draft
        draft.add(request, canonical(variant.changes) if variant.changes else "", line, price)
        self._calls += 1
        self._nano += price
        return None

    def _bound(self, request: Request) -> int:
        """Return what a request costs at most, in nano-dollars; 0 without a limit, if that is not known."""
        if self._budget.max_usd is not None:
            return nano(bound_of(request, self._batches.prices) * OF_BATCH / 1e9)
        return nano((self._batches.prices.at_most(request) or 0.0) * OF_BATCH)

    def _affords(self, price: int) -> bool:
        usd, calls = self._budget.max_usd, self._budget.max_calls
        if usd is not None and self._nano + price > usd * 1e9:
            self.empty = f"the budget of {usd:g} USD does not cover them; raise `judging.max_usd`"
            return False
        if calls is not None and self._calls >= calls:
            self.empty = f"the budget of {calls} calls does not cover them; raise `judging.max_calls`"
            return False
        return True

    def _send(self, model: ModelAt) -> None:
        draft = self._drafts.pop(model)
        try:
            draft.send()
        except FullError:
            self._full.add(model)
            self.unsent += draft.requests
        finally:
            draft.close()

    def _terms_at(self, model: ModelAt, endpoint: Endpoint) -> Terms:
        fresh = Terms(json_object=getattr(endpoint.client, "json_object", False))
        return self._batches.terms.setdefault(model, fresh)


@dataclass(eq=False)
class Batches:
    """Sends requests in batches and collects them, for one run.

    Parameters
    ----------
    store
        Where replies and batches are kept.
    run
        A word for the run: letters and digits. Its budget counts from its first batch until it is finished.
    places
        Providers and addresses that the run asks.
    limits, budget, prices, terms
        As of ordinary calls.
    """

    store: Store
    run: str
    places: Collection[tuple[str, str]]
    _: KW_ONLY
    limits: Limits
    budget: Budget
    prices: Prices
    terms: dict[ModelAt, Terms]

    def __post_init__(self) -> None:
        self.ledger = Ledger(self.store, self.places)
        self._endpoints: dict[tuple[str, str], Endpoint] = {}
        self._opened = contextlib.ExitStack()
        self.poll_seconds = _POLL_SECONDS
        """Seconds between two looks at batches."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()

    @contextlib.contextmanager
    def round(self) -> Iterator[Sender]:
        """Collect what is over, and yield what takes requests; they are sent when the block ends.

        Raises
        ------
        CallError
            If an endpoint does not do what it is asked for.
        StoppedError
            If another process sends or collects, or a provider takes a batch for bad.
        """
        with self.store.holding("batches", _BUSY) as held:
            if not held:
                raise StoppedError(f"another run sends batches from the store {self.store.name}")
            self._settle()
            collect(self.ledger, self.endpoint, self.prices)
            with contextlib.closing(Sender(self)) as sender:
                yield sender
                sender.send()

    def wait(self) -> None:
        """Wait until a batch is over; raise `CallError` if an endpoint does not say."""
        batches = self.ledger.batches(*UNDER_WAY)
        done = 0
        with progress("waiting for batches", sum(batch.requests for batch in batches)) as advance:
            while True:
                time.sleep(self.poll_seconds)
                states = [self.endpoint(batch).state(batch.id) for batch in batches]
                now = sum(state.done for state in states)
                advance(now - done)
                done = now
                if not batches or any(state.over for state in states):
                    return

    def finish(self) -> None:
        """Forget what is over, since the run is finished."""
        self.ledger.close(self.run)

    def _settle(self) -> None:
        """Find out what became of batches that were asked for without an answer, such as by a killed run.

        If there is one, it is adopted; it may be in the provider's list a while after it was made. If not,
        the file is deleted, so that none can be made of it any more; after that it is looked up again, since
        the call that makes it may have been under way.
        """
        for batch in self.ledger.batches(DRAFT):
            endpoint, asked = self.endpoint(batch), min(float(batch.id or 0), time.time())
            with progress("looking for a batch that may have been made"):
                while (made := endpoint.find(batch.name, batch.file)) is None:
                    if (left := asked + _LISTED - time.time()) <= 0:
                        break
                    time.sleep(min(self.poll_seconds, left))
            if made is None:
                endpoint.delete_files(batch.name)
                made = endpoint.find(batch.name, batch.file)
            if made is None:
                self.ledger.give_up(batch)
            else:
                self.ledger.note(batch._replace(state=SENT, id=made))

    def endpoint(self, asks: Batch | Request) -> Endpoint:
        """Return where a batch or a request is sent."""
        place = (asks.provider, asks.address)
        if place not in self._endpoints:
            self._endpoints[place] = self._opened.enter_context(Endpoint(*place, self.limits))
        return self._endpoints[place]
