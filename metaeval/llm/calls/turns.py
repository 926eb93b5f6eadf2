"""In which order the requests of a run are sent."""

from __future__ import annotations

import asyncio
import itertools
from typing import Generic, TypeVar

T = TypeVar("T")

_FIRST, _NEXT, _LAST = range(3)


class Turns(Generic[T]):
    """What waits to be sent, in the order in which it came.

    Requests of a group begin with the same long messages. A provider has these in its cache once it has read
    them, so the first request of a group is sent at once, and the others wait until it is over.

    Parameters
    ----------
    most
        How many may wait; then `put` does.
    takers
        How many tasks take from it.
    """

    def __init__(self, most: int, takers: int) -> None:
        self._room = asyncio.Semaphore(most)
        self._takers = takers
        self._ready: asyncio.PriorityQueue[tuple[int, int, T | None]] = asyncio.PriorityQueue()
        self._count = itertools.count()  # equals leave in the order in which they came
        self._held: dict[str, list[T]] = {}  # of each group whose first request is not over
        self._begun: set[str] = set()
        self._ended = False

    async def put(self, item: T, group: str = "") -> None:
        """Add what is to be sent; an empty ``group`` is none."""
        await self._room.acquire()
        if group in self._held:
            self._held[group].append(item)
        elif group and group not in self._begun:
            self._held[group] = []
            self._add(_FIRST, item)
        else:
            self._add(_NEXT, item)

    async def get(self) -> T | None:
        """Return what is to be sent next; None if nothing will be."""
        _, _, item = await self._ready.get()
        if item is not None:
            self._room.release()
        return item

    def over(self, group: str) -> None:
        """Let the others of a group go: a request of it is over, however it ended."""
        if group in self._held:
            self._begun.add(group)
            for item in self._held.pop(group):
                self._add(_NEXT, item)
            self._end_if_empty()

    def end(self) -> None:
        """Add nothing more; whoever takes is told when all is gone."""
        self._ended = True
        self._end_if_empty()

    def stop(self) -> None:
        """Drop what waits."""
        self._held.clear()
        while not self._ready.empty():
            self._ready.get_nowait()
        self.end()

    def _add(self, rank: int, item: T | None) -> None:
        self._ready.put_nowait((rank, next(self._count), item))

    def _end_if_empty(self) -> None:
        if self._ended and not self._held:
            for _ in range(self._takers):
                self._add(_LAST, None)
