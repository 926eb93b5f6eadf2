"""Collect batches: their results → replies in the store."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from metaeval.base.errors import StoppedError
from metaeval.base.progress import progress
from metaeval.llm.batch.results import failure, reply_of, result_in
from metaeval.llm.calls.request import Request
from metaeval.llm.store.ledger import SENT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from metaeval.llm.batch.endpoint import Endpoint, State
    from metaeval.llm.calls.price import Prices
    from metaeval.llm.store.ledger import Batch, Ledger

_FULL = "token_limit_exceeded"
_AT_ONCE = 250  # results that are kept at once


def collect(ledger: Ledger, endpoint_of: Callable[[Batch], Endpoint], prices: Prices) -> None:
    """Collect all batches that are over; raise `CallError`, or `StoppedError` if one failed as a whole."""
    given = {batch: endpoint_of(batch).state(batch.id) for batch in ledger.batches(SENT)}
    had_room = {model_of(batch) for batch, state in given.items() if not _had_no_room(state)}
    for batch, state in given.items():
        if state.over:
            _collect(batch, state, ledger, endpoint_of(batch), prices, alone=model_of(batch) not in had_room)


def model_of(batch: Batch | Request) -> tuple[str, str, str]:
    """Return the model and the address that a batch asks."""
    return batch.provider, batch.model, batch.address


def _collect(
    batch: Batch, state: State, ledger: Ledger, endpoint: Endpoint, prices: Prices, *, alone: bool
) -> None:
    if _had_no_room(state):
        _no_room(ledger, endpoint, batch, alone=alone)
        return
    if not state.files and state.over == "failed":
        ledger.drop(batch.name)
        said = "; ".join(f"{message} ({code})" for code, message in state.errors) or "no reason is given"
        raise StoppedError(f"a batch to {batch.provider}/{batch.model} failed: {said}")
    priced = Request(batch.provider, batch.model, (), base_url=batch.address)
    usd, most = 0.0, batch.usd / batch.requests
    with progress(f"collecting {batch.requests:,} replies of {batch.model}", batch.requests) as advance:
        for chunk in _chunks(itertools.chain.from_iterable(map(endpoint.lines, state.files))):
            results = dict(found for line in chunk if (found := result_in(line)))
            sent = ledger.sent_as(batch, results)
            replies = {k: reply_of(r, sent.get(k, ""), endpoint.client.denied) for k, r in results.items()}
            costs = [prices.cost(priced, reply) for reply in replies.values()]
            usd += sum(most if cost is None else cost for cost in costs)
            ledger.keep(batch, replies)
            advance(len(replies))
    why = failure("transport", f"the batch {state.over} without a reply to it", f"batch_{state.over}")
    for keys in _chunks(ledger.left(batch)):
        ledger.keep(batch, dict.fromkeys(keys, why))
    ledger.end(batch.name, usd)


def _no_room(ledger: Ledger, endpoint: Endpoint, batch: Batch, *, alone: bool) -> None:
    """Note that there is no room for a batch: if no other is in its way, the next is half as large."""
    endpoint.delete_files(batch.name)
    if alone and batch.requests == 1:
        ledger.drop(batch.name)
        raise StoppedError(
            f"{batch.provider}/{batch.model} does not take a batch of one call; other batches of the "
            "account may fill its limit"
        )
    ledger.limit(batch.name, batch.requests // 2 if alone else batch.requests)


def _had_no_room(state: State) -> bool:
    return not state.files and any(code == _FULL for code, _ in state.errors)


def _chunks(lines: Iterable[str]) -> Iterator[list[str]]:
    lines = iter(lines)
    while chunk := list(itertools.islice(lines, _AT_ONCE)):
        yield chunk
