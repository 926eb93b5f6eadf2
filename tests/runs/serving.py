"""A server of this package in a thread of the tests."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

from metaeval.runs.server import LocalServer


@contextlib.contextmanager
def serving(server: LocalServer) -> Iterator[LocalServer]:
    """Let a server answer for the length of a block."""
    with server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
