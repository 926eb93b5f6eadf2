"""A file of requests that grows until it is as large as the provider takes, and then is a batch."""

from __future__ import annotations

import hashlib
import secrets
import tempfile
from typing import TYPE_CHECKING

from metaeval.llm.calls.request import canonical
from metaeval.llm.store.ledger import DRAFT, Batch

if TYPE_CHECKING:
    from metaeval.llm.batch.endpoint import Endpoint
    from metaeval.llm.calls.request import Request
    from metaeval.llm.calls.terms import Asked, Changes
    from metaeval.llm.store.ledger import Ledger

_AT_ONCE = 250  # requests that are noted at once
_LENGTH = 2**20  # characters of these


class Draft:
    """A batch to one model, from its first request until it is sent.

    Parameters
    ----------
    first
        A request to the model.
    run
        Whose budget it counts against.
    changes
        What is known of the model.
    most
        Requests at most, if fewer than the provider takes.
    """

    def __init__(
        self, ledger: Ledger, endpoint: Endpoint, first: Request, *, run: str, changes: Changes, most: int
    ) -> None:
        self._ledger, self._endpoint = ledger, endpoint
        self._most = min(most, endpoint.takes.requests)
        self.name = f"{run}-{secrets.token_hex(8)}"
        self.requests = self.nano = 0
        self._bytes = self._length = 0
        self._noted: list[tuple[Request, str]] = []
        self._digest = hashlib.sha256()
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `close`
        at = (first.provider, first.model, first.address)
        ledger.begin(Batch(self.name, run, *at, DRAFT, 0, 0.0, canonical(changes)))

    def fits(self, line: bytes) -> bool:
        """Say whether there is room for one more line."""
        takes = self._endpoint.takes
        return self.requests < self._most and self._bytes + len(line) <= takes.file_bytes

    def add(self, request: Request, asked: Asked, line: bytes, nano: int) -> None:
        """Add a request, which costs some nano-dollars at most."""
        self._file.write(line)
        self._digest.update(line)
        self._noted.append((request, canonical(asked.changes) if asked.changes else ""))
        self.requests += 1
        self.nano += nano
        self._bytes += len(line)
        self._length += request.length
        if len(self._noted) == _AT_ONCE or self._length > _LENGTH:
            self._note()

    def send(self) -> None:
        """Make a batch of it; raise `CallError` if that fails: the ledger says what may have happened."""
        self._note()
        self._ledger.ready(self.name, self.requests, self.nano / 1e9)
        self._file.seek(0)
        file = self._endpoint.upload(self.name, self._file)
        self._ledger.uploaded(self.name, file)
        self._ledger.created(self.name, self._endpoint.create(self.name, file, self._digest.hexdigest()))

    def discard(self) -> None:
        """Delete what was uploaded, since there is no batch of it."""
        self._endpoint.delete_files(self.name)
        self._ledger.drop(self.name)

    def close(self) -> None:
        """Give the space of the file back."""
        self._file.close()

    def _note(self) -> None:
        self._ledger.add(self.name, self._noted)
        self._noted, self._length = [], 0
