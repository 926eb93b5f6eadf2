"""The event loop in which runs ask side by side, within the limits of each address and one budget."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from concurrent.futures import Future
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator

    from metaeval.llm.calls.caller import Caller


class _Session:
    """An event loop in a thread of its own, and the caller of all that runs in it."""

    def __init__(self, caller: Caller) -> None:
        self.caller = caller
        self.tasks: set[asyncio.Task[None]] = set()
        self._runner = asyncio.Runner(loop_factory=asyncio.events.new_event_loop)
        self.loop = self._runner.get_loop()
        self._over = asyncio.Event()
        # A daemon: a program that ends in the middle of a run does not wait for it.
        self._thread = threading.Thread(target=self._work, name="metaeval calls", daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Close all connections, and end the thread."""
        with contextlib.suppress(RuntimeError):  # it broke, and is closed
            self.loop.call_soon_threadsafe(self._over.set)
        self._thread.join()

    def _work(self) -> None:
        with self._runner:
            self._runner.run(self._main())

    async def _main(self) -> None:
        try:
            await self._over.wait()
        finally:
            await self.caller.close()


class CallLoop:
    """An event loop for the work of several runs; there is one from the first until none is left.

    Parameters
    ----------
    caller
        Makes the caller that they share.
    """

    def __init__(self, caller: Callable[[], Caller]) -> None:
        self._make = caller
        self._changing = threading.Lock()
        self._session: _Session | None = None
        self._runs = 0

    @contextlib.contextmanager
    def running(
        self,
        work: Callable[[Caller], Coroutine[None, None, None]],
        ended: Callable[[asyncio.Task[None]], None],
    ) -> Iterator[None]:
        """Have work done for the length of a block; what is left of it at the end is cancelled.

        Parameters
        ----------
        work
            Takes the shared caller.
        ended
            Called in the loop when the work is over, however it went.
        """
        with self._changing:
            if self._session is None:
                self._session = _Session(self._make())
            session = self._session
            self._runs += 1
        begun: Future[asyncio.Task[None]] = Future()
        over = threading.Event()

        def begin() -> None:
            task = session.loop.create_task(work(session.caller))
            session.tasks.add(task)
            task.add_done_callback(end)
            begun.set_result(task)

        def end(task: asyncio.Task[None]) -> None:
            session.tasks.discard(task)
            ended(task)
            over.set()

        session.loop.call_soon_threadsafe(begin)
        try:
            yield
        finally:
            session.loop.call_soon_threadsafe(begun.result().cancel)
            over.wait()
            with self._changing:
                self._runs -= 1
                if not self._runs:
                    self._session = None
                    session.end()

    def share(self, amount: int) -> int:
        """Return the share that each run has of an amount."""
        return amount // max(self._runs, 1)

    def stop(self, error: Exception | None = None) -> None:
        """Cancel the work of all runs; with an error they get it, and calls under way may end."""
        session = self._session
        if session is None:
            return

        def cancel() -> None:
            for task in session.tasks:
                task.cancel()

        with contextlib.suppress(RuntimeError):  # it has just ended
            session.loop.call_soon_threadsafe(cancel if error is None else lambda: session.caller.stop(error))
