"""A run by batches, of which `main` does one round in a process of its own."""

from __future__ import annotations

import contextlib
import sys
from typing import Any

from metaeval.llm.batch import batches as module
from metaeval.llm.batch.batches import Batches, Sender
from metaeval.llm.calls.client import CallError
from metaeval.llm.calls.limits import Budget
from metaeval.llm.calls.price import Price, Prices
from metaeval.llm.calls.request import Request
from metaeval.llm.calls.work import Answer, HandedOverError
from metaeval.llm.store.replies import Store
from tests.llm.asking import FAST, requests, running

HIDES = 2.0
"""Seconds until a batch is in the server's list, where a client is killed."""
PRICES = Prices({"m": Price(input=2.0, output=8.0)})


def address(provider: str, server: Any) -> str:
    return str(server.dashscope if provider == "dashscope" else server.openai)


def of_both(port: int, number: int) -> list[Request]:
    """Return requests to both providers."""
    url = f"http://127.0.0.1:{port}"
    return [*requests(number, f"{url}/v1"), *requests(number, f"{url}/api/v1", "dashscope")]


def round_of(store: Store, wanted: list[Request], **options: Any) -> Sender:
    """Send and collect once, and return what is left to be done."""
    options = {"limits": FAST, "budget": Budget(), "prices": PRICES, "terms": {}, **options}
    usable = {
        "attempts": options.pop("attempts", 1),
        "usable": options.pop("usable", lambda _, r: bool(r.text)),
    }
    places = {(request.provider, request.address) for request in wanted}
    with Batches(store, options.pop("run", "run"), places, **options) as batches:
        with batches.round() as sender, contextlib.suppress(HandedOverError):
            list(running(wanted, store, instead=sender.take, **usable))
        if not sender.to_come:
            batches.finish()
        return sender


def replies(store: Store, wanted: list[Request], **options: Any) -> list[Answer]:
    """Return what the store has of a run that is finished."""
    return list(running(wanted, store, offline=True, **options))


def main(path: str, port: int, number: int) -> None:
    """Do one round; end with exit code 3 while replies are outstanding."""
    module._LISTED, module._POLL_SECONDS = 4 * HIDES, 0.1
    with Store(path) as store:
        try:
            left = round_of(store, of_both(port, number))
        except CallError as error:
            sys.exit(str(error))
        sys.exit(3 if left.to_come else 0)
