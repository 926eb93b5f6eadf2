"""Collect batches: their results → replies in the store."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from metaeval.base.errors import StoppedError
from metaeval.base.progress import progress
from metaeval.llm.batch.ledger import ENDED, SENT, Batch, Ledger
from metaeval.llm.calls.client import CallError, DeniedError, RejectedError, RetryableError
from metaeval.llm.calls.request import BY_BATCH, CallFailure, FailureKind, Reply, Request, canonical
from metaeval.llm.calls.terms import changes_in
from metaeval.llm.providers.openai import read_completion
from metaeval.llm.providers.wire import MISREAD, answered, unreadable

if TYPE_CHECKING:
    from metaeval.llm.batch.endpoint import Endpoint, State
    from metaeval.llm.calls.price import Prices

_FULL = "token_limit_exceeded"
_AT_ONCE = 250  # results that are kept at once


def collect(ledger: Ledger, endpoint_of: Callable[[Batch], Endpoint], prices: Prices) -> None:
    """Collect all batches that are over; raise `CallError`, or `StoppedError` if one failed as a whole."""
    states = {batch: endpoint_of(batch).state(batch.id) for batch in ledger.batches(SENT)}
    had_room = {model_of(batch) for batch, state in states.items() if not _had_no_room(state)}
    for batch, state in states.items():
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
        ledger.give_up(batch)
        why = "; ".join(f"{message} ({code})" for code, message in state.errors) or "no reason is given"
        raise StoppedError(f"a batch to {batch.provider}/{batch.model} failed: {why}")
    priced = Request(batch.provider, batch.model, (), base_url=batch.address)
    usd, most, rows, sent = 0.0, batch.usd / batch.requests, 0, ledger.requests(batch)
    with progress(f"collecting {batch.requests:,} replies of {batch.model}", batch.requests) as advance:
        for lines in _chunks(itertools.chain.from_iterable(map(endpoint.lines, state.files))):
            results = dict(filter(None, map(result_in, lines)))
            replies = {k: reply_of(r, sent.get(k, ""), endpoint.client.denied) for k, r in results.items()}
            costs = [prices.cost(priced, reply) for reply in replies.values()]
            usd += sum(most if cost is None else cost for cost in costs)
            ledger.keep(batch, replies)
            # The last line may be cut off.
            rows += sum(bool(row.strip()) and (row.endswith("\n") or bool(result_in(row))) for row in lines)
            advance(len(replies))
    if rows < state.done:
        # What is missing was answered, and is paid for: it is not sent again.
        have = f"the results of a batch to {batch.model} have {rows:,} of {state.done:,} rows"
        raise RetryableError(f"{have}; they are fetched again by the same command", "cut_off")
    lost = failure("transport", f"the batch {state.over} without a reply to it", f"batch_{state.over}")
    for keys in _chunks(ledger.requests(batch)):
        ledger.keep(batch, dict.fromkeys(keys, lost))
    ledger.note(batch._replace(state=ENDED, usd=usd))


def _no_room(ledger: Ledger, endpoint: Endpoint, batch: Batch, *, alone: bool) -> None:
    """Note that there is no room for a batch: if no other is in its way, the next is half as large."""
    endpoint.delete_files(batch.name)
    if alone and batch.requests == 1:
        ledger.give_up(batch)
        raise StoppedError(
            f"{batch.provider}/{batch.model} does not take a batch of one call; other batches of the "
            "account may fill its limit"
        )
    ledger.give_up(batch, batch.requests // 2 if alone else batch.requests)


def _had_no_room(state: State) -> bool:
    return not state.files and any(code == _FULL for code, _ in state.errors)


def _chunks(lines: Iterable[str]) -> Iterator[list[str]]:
    lines = iter(lines)
    while chunk := list(itertools.islice(lines, _AT_ONCE)):
        yield chunk


_OURS = re.compile(r"invalid|bad.?request|unsupported|too.?(?:long|large)|inspection|filter", re.IGNORECASE)
"""In the code of an error without a status: the fault is the request's, so it is not sent again."""


def result_in(line: str) -> tuple[str, Mapping[str, Any]] | None:
    """Return the key that a line of results is about, and what it says; None if it says of none."""
    try:
        row = json.loads(line)
        key = row["custom_id"]
    except MISREAD:
        return None
    return (key, row) if isinstance(key, str) else None


def reply_of(row: Mapping[str, Any], sent: str, denied: Collection[str] = ()) -> Reply:
    """Return the reply that a row of results holds; its ``error`` says why there is none.

    Parameters
    ----------
    row
        With ``response``, which has a ``status_code`` and a ``body``, or ``error``.
    sent
        What was sent otherwise than asked for, as JSON; a failure keeps it too.
    denied
        Codes of an empty account at this provider.
    """
    try:
        reply = _read(row, denied)
    except CallError as error:
        kind: FailureKind = "transport"
        if isinstance(error, (DeniedError, RejectedError)):
            kind = "denied" if isinstance(error, DeniedError) else "rejected"
        return failure(kind, str(error), error.code, sent)
    return reply._replace(sent=canonical({**changes_in(sent), **BY_BATCH}))


def failure(kind: FailureKind, message: str, code: str, sent: str = "") -> Reply:
    """Return a failed reply."""
    return Reply(error=CallFailure(kind, message, code), sent=sent)


def _read(row: Mapping[str, Any], denied: Collection[str]) -> Reply:
    response, error = row.get("response"), row.get("error")
    if isinstance(response, dict):
        status, body = response.get("status_code"), response.get("body")
        raw = json.dumps(body, ensure_ascii=False)
        if status == 200:
            try:
                return read_completion(body if isinstance(body, dict) else {}, raw)
            except MISREAD as wrong:
                raise unreadable(wrong, raw, "completion") from None
        if isinstance(status, int) and not error:
            return answered(status, raw, {}, denied)
    code = str(error.get("code") or "") if isinstance(error, dict) else ""
    said = json.dumps({"error": error if error else "the row has neither a response nor an error"})
    return answered(400 if _OURS.search(code) else 500, said, {}, denied)
