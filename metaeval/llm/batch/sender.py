"""Send requests in batches, within the budget and within what a provider has room for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metaeval.llm.batch.collect import model_of
from metaeval.llm.batch.draft import Draft
from metaeval.llm.batch.endpoint import FullError
from metaeval.llm.batch.results import failure
from metaeval.llm.calls.limits import bound_of, nano
from metaeval.llm.calls.price import OF_BATCH
from metaeval.llm.calls.terms import Terms, changes_in
from metaeval.llm.store.ledger import DRAFT, ENDED, LIMITED, SENT

if TYPE_CHECKING:
    from collections.abc import Callable

    from metaeval.llm.batch.endpoint import Endpoint
    from metaeval.llm.calls.caller import ModelAt
    from metaeval.llm.calls.limits import Budget
    from metaeval.llm.calls.price import Prices
    from metaeval.llm.calls.request import Reply, Request
    from metaeval.llm.store.ledger import Batch, Ledger
    from metaeval.llm.store.replies import Store

_TO_COME = failure("budget", "its reply will come by batch", "batch")


class Sender:
    """Takes requests one by one, and sends them as batches.

    Parameters
    ----------
    store, ledger, endpoint_of
        Where replies are kept, what is known of batches, and where they are sent.
    run
        Whose budget they count against: from the first batch of a run until the run is finished.
    tries
        After how many batches without a reply a request is given up.
    budget, prices, terms
        As of ordinary calls.
    """

    def __init__(
        self,
        store: Store,
        ledger: Ledger,
        endpoint_of: Callable[[Batch | Request], Endpoint],
        *,
        run: str,
        tries: int,
        budget: Budget,
        prices: Prices,
        terms: dict[ModelAt, Terms],
    ) -> None:
        self._store, self._ledger, self._endpoint_of = store, ledger, endpoint_of
        self._run, self._tries, self._budget, self._prices = run, tries, budget, prices
        self._terms = terms
        known = ledger.batches(DRAFT, SENT, ENDED, LIMITED)
        self._most = {model_of(b): b.requests for b in known if b.state == LIMITED}
        self._full = {model_of(b) for b in known if b.state == SENT} & self._most.keys()
        ours = [b for b in known if b.run == run and b.state != LIMITED]
        self._calls = sum(b.requests for b in ours)
        self._nano = sum(nano(b.usd) for b in ours)
        for batch in known:
            self._terms_at(model_of(batch), self._endpoint_of(batch)).know(changes_in(batch.changes))
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
            return _TO_COME
        known = self._ledger.sent(request.key)
        if not (known and known.batch):
            endpoint = self._endpoint_of(request)
            terms = self._terms_at(model_of(request), endpoint)
            before = self._store.get(request.key) if known and known.tries else None
            if known and before and not before.final and not self._again(request, before, known.tries, terms):
                return before
            if lost := self._add(request, terms, endpoint):
                return lost
        self.to_come.add(request.key)
        return _TO_COME

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
        return failure.error is not None and failure.error.kind == "transport" and tries <= self._tries

    def _add(self, request: Request, terms: Terms, endpoint: Endpoint) -> Reply | None:
        """Add a request to a draft, if there is room; return a failure if no batch can take it."""
        asked = terms.asked(request)
        line = endpoint.line(asked.request, request.key)
        if len(line) > endpoint.takes.line_bytes:
            said = f"a batch takes {endpoint.takes.line_bytes // 1_000_000} MB per request"
            return self._store.put(request, failure("rejected", said, "413"))
        model, price = model_of(request), self._bound(request)
        draft = self._drafts.get(model)
        if draft is not None and not draft.fits(line):
            self._send(model)
            draft = None
        if model in self._full or not self._affords(price):
            self.unsent += 1
            return None
        if draft is None:
            most = self._most.get(model, endpoint.takes.requests)
            draft = Draft(self._ledger, endpoint, request, run=self._run, changes=terms.changes, most=most)
            self._drafts[model] = draft
        draft.add(request, asked, line, price)
        self._calls += 1
        self._nano += price
        return None

    def _bound(self, request: Request) -> int:
        """Return what a request costs at most, in nano-dollars; 0 without a limit, if that is not known."""
        if self._budget.max_usd is not None:
            return nano(bound_of(request, self._prices) * OF_BATCH / 1e9)
        return nano((self._prices.at_most(request) or 0.0) * OF_BATCH)

    def _affords(self, price: int) -> bool:
        usd, calls = self._budget.max_usd, self._budget.max_calls
        if usd is not None and self._nano + price > usd * 1e9:
            self.empty = f"the budget of {usd:g} USD does not cover them; raise max_usd"
            return False
        if calls is not None and self._calls >= calls:
            self.empty = f"the budget of {calls} calls does not cover them; raise max_calls"
            return False
        return True

    def _send(self, model: ModelAt) -> None:
        draft = self._drafts.pop(model)
        try:
            draft.send()
        except FullError:
            draft.discard()
            self._full.add(model)
            self.unsent += draft.requests
        finally:
            draft.close()

    def _terms_at(self, model: ModelAt, endpoint: Endpoint) -> Terms:
        if model not in self._terms:
            self._terms[model] = Terms(json_object=getattr(endpoint.client, "json_object", False))
        return self._terms[model]
