"""The server of the page on providers: it takes a key, is overloaded once, and rates every aspect with 3."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Iterable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

KEY = "secret"
ASPECTS = ("persuasiveness", "transparency", "accuracy", "satisfaction")


class Lab(ThreadingHTTPServer):
    """Counts the requests of each status."""

    def __init__(self, aspects: Iterable[str]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answer = json.dumps(dict.fromkeys(aspects, 3))
        self.lock = threading.Lock()
        self.answered: list[int] = []

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Lab

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path != "/ask" or self.headers["Authorization"] != f"Bearer {KEY}" or not asked["messages"]:
            return self._answer(403, {"error": "not for you"})
        with self.server.lock:
            overloaded = not self.server.answered
            self.server.answered.append(429 if overloaded else 200)
        if overloaded:
            return self._answer(429, {"error": "later"})
        return self._answer(200, {"text": self.server.answer, "tokens": 20})

    def _answer(self, status: int, body: object) -> None:
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextlib.contextmanager
def lab(aspects: Iterable[str] = ASPECTS) -> Iterator[Lab]:
    """Serve until the block ends."""
    with Lab(aspects) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        try:
            yield server
        finally:
            server.shutdown()
