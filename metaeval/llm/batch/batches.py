"""The batches of a run: whatever was sent is found again and collected, and what is missing is sent."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Collection, Iterator
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, NamedTuple, Self

from metaeval.base.counts import counted
from metaeval.base.errors import StoppedError
from metaeval.base.progress import progress
from metaeval.llm.batch.collect import collect
from metaeval.llm.batch.endpoint import Endpoint
from metaeval.llm.batch.ledger import DRAFT, SENT, Batch, Ledger
from metaeval.llm.batch.sender import Sender
from metaeval.llm.calls.limits import Budget, Limits
from metaeval.llm.calls.price import Prices
from metaeval.llm.calls.request import Request
from metaeval.llm.calls.terms import Terms

if TYPE_CHECKING:
    from metaeval.llm.calls.caller import ModelAt
    from metaeval.llm.store.replies import Store

_POLL_SECONDS = 20.0
_BUSY = 60.0  # seconds to wait for another process that sends or collects


class Left(NamedTuple):
    """What a round left to be done."""

    to_come: int
    """Requests without a reply."""
    unsent: int
    """Requests among them that were not sent."""
    empty: str
    """Which part of the budget leaves no room for them; empty if none does."""
    batches: int
    """Batches that are under way."""

    @property
    def stuck(self) -> bool:
        """Whether nothing changes by waiting."""
        return bool(self.empty) and self.to_come == self.unsent

    def __str__(self) -> str:
        sent = self.to_come - self.unsent
        said = []
        if sent:
            come = counted(sent, "reply is outstanding", "replies are outstanding")
            said.append(f"{come} from {counted(self.batches, 'batch', 'batches')}, within 24 hours")
        if self.unsent:
            why = self.empty or "the provider takes no more now"
            said.append(f"{counted(self.unsent, 'call is', 'calls are')} not sent yet: {why}")
        return "; ".join(said)


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

    def left(self, sender: Sender) -> Left:
        """Return what a round has left to be done."""
        return Left(len(sender.to_come), sender.unsent, sender.empty, len(self.ledger.batches(SENT)))

    def wait(self) -> None:
        """Wait until a batch is over; raise `CallError` if an endpoint does not say."""
        batches = self.ledger.batches(SENT)
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
        """Find out what became of batches that a killed run was about to make.

        If there is one, it is adopted. If not, the file is deleted, so that none can be made of it any more;
        after that it is looked up again, since the call that makes it may have been under way.
        """
        for batch in self.ledger.batches(DRAFT):
            endpoint = self.endpoint(batch)
            made = endpoint.find(batch.name, batch.file) if batch.file else None
            if made is None:
                endpoint.delete_files(batch.name)
                made = endpoint.find(batch.name, batch.file) if batch.file else None
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
