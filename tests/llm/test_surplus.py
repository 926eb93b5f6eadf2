"""A server that sends one reply too many on a connection."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from metaeval.llm.calls.limits import Limits
from metaeval.llm.calls.request import Message, Request
from metaeval.llm.store.replies import Store
from tests.llm.asking import running

LIMITS = Limits(concurrency=1, retries=2)
TEXTS = [f"text {n}" for n in range(12)]


@pytest.fixture(params=["own ids", "one id", "no ids"])
def address(request: pytest.FixtureRequest) -> Iterator[str]:
    """Yield where a server repeats each prompt; with ids of their own, the third reply comes twice."""
    calls = iter(range(100))

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            call = next(calls)
            name = {"own ids": {"id": f"c{call}"}, "one id": {"id": "c"}, "no ids": {}}[request.param]
            message = {"role": "assistant", "content": asked["messages"][-1]["content"]}
            body = json.dumps({**name, "choices": [{"message": message, "finish_reason": "stop"}]}).encode()
            twice = request.param == "own ids" and call == 2
            head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
            for _ in range(1 + twice):
                self.wfile.write(head.encode() + body)
                self.wfile.flush()
                threading.Event().wait(0.05 * twice)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()
    server.server_close()


def test_a_reply_too_many_shifts_no_other(address: str, store: Store) -> None:
    asked = [Request("openai", "m", (Message("user", text),), {}, address) for text in TEXTS]
    answers = {TEXTS[a.position]: a.reply for a in running(asked, store, limits=LIMITS)}
    assert {text: reply.text for text, reply in answers.items()} == {text: text for text in TEXTS}
