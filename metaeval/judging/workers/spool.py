"""Requests on their way to workers: kept in a file, dealt in shards of one judge and one prefix or more."""

from __future__ import annotations

import pickle
import tempfile
from typing import TYPE_CHECKING, NamedTuple, Self, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator

    from metaeval.llm.calls.request import Request

Addressee: TypeAlias = tuple[str, str, str]
"""Provider, address, and settings: a model as a judge asks it."""

_AT_ONCE = 64  # requests of a prefix that are written together
_WAITING = 4_096  # requests in memory before all of them are written


def addressee(request: Request) -> Addressee:
    """Return whom a request asks: what stops one such request stops all of them, and no others."""
    return request.provider, request.address, request.settings


class _Part(NamedTuple):
    """Requests to one addressee with the same messages but the last, in the file."""

    addressee: Addressee
    prefix: int
    """Number of the prefix, in the order in which they came."""
    start: int
    size: int


class Spool:
    """Takes requests one by one, and gives them back in shards."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 - closed with this
        self._prefixes: dict[tuple[Addressee, int], int] = {}
        self._waiting: dict[int, list[Request]] = {}
        self._in_memory = 0
        self._parts: list[_Part] = []
        self.total = 0
        """How many requests it holds."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def add(self, request: Request) -> None:
        """Take a request."""
        same = addressee(request), hash(request.messages[:-1])
        prefix = self._prefixes.setdefault(same, len(self._prefixes))
        of_prefix = self._waiting.setdefault(prefix, [])
        of_prefix.append(request)
        self.total += 1
        self._in_memory += 1
        if len(of_prefix) == _AT_ONCE:
            self._write(prefix)
        elif self._in_memory == _WAITING:
            self._write_all()

    def shards(self, least: int) -> Iterator[list[Request]]:
        """Yield all requests, grouped by addressee and prefix.

        Parameters
        ----------
        least
            Requests of a shard, if there are so many to one addressee; a prefix with more than twice as many
            is split.
        """
        self._write_all()
        most = 2 * least
        shard: list[Request] = []
        before: _Part | None = None
        for part in sorted(self._parts):
            other = before is None or part.addressee != before.addressee
            if shard and before and (other or (part.prefix != before.prefix and len(shard) >= least)):
                yield shard
                shard = []
            before = part
            self._file.seek(part.start)
            shard += pickle.loads(self._file.read(part.size))  # noqa: S301 - written by this object
            while len(shard) >= most:
                yield shard[:most]
                shard = shard[most:]
        if shard:
            yield shard

    def _write_all(self) -> None:
        for prefix in list(self._waiting):
            self._write(prefix)

    def _write(self, prefix: int) -> None:
        requests = self._waiting.pop(prefix)
        written = pickle.dumps(requests, pickle.HIGHEST_PROTOCOL)
        start = self._parts[-1].start + self._parts[-1].size if self._parts else 0
        self._file.seek(start)
        self._file.write(written)
        self._parts.append(_Part(addressee(requests[0]), prefix, start, len(written)))
        self._in_memory -= len(requests)
