"""A worker: an ordinary process, with a store and connections of its own, which asks shard by shard."""

from __future__ import annotations

import contextlib
import logging
import socket
import threading
from typing import TYPE_CHECKING, NamedTuple

import metaeval
from metaeval.base.errors import MetaevalError, StoppedError
from metaeval.judging.settings import judging_of
from metaeval.llm.calls.runner import RequestRun
from metaeval.llm.calls.tally import Tally, summed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from metaeval.judging.settings import JudgingOptions
    from metaeval.llm.calls.address import Where
    from metaeval.llm.calls.limits import Limits
    from metaeval.llm.calls.request import Request


class WorkerCounts(NamedTuple):
    """What a worker has done so far."""

    tally: Tally
    waiting: str
    """What its requests wait for, in a few words."""
    warnings: Sequence[str]


class AskedShard(NamedTuple):
    """What came of a shard."""

    counts: WorkerCounts
    empty: str = ""
    """Which part of the budget is used up, as a sentence; empty if none is."""
    error: str = ""
    """Why it broke off."""
    stopped: bool = False
    """Whether it can be gone on with."""


class Worker:
    """Asks for a run.

    Parameters
    ----------
    options
        How judges are asked, with the store as it may be written down.
    at
        The limits of addresses that have their own.
    version
        Of the package that gives out the work.
    """

    def __init__(self, options: JudgingOptions, at: Mapping[Where, Limits], version: str) -> None:
        self._options, self._at, self._version = options, at, version
        self._open = contextlib.ExitStack()
        self._runs: list[RequestRun] = []
        self._over = Tally()  # of runs that have ended
        self._changing = threading.Lock()
        self._warnings = _Warnings()

    def begin(self) -> AskedShard:
        """Open the store."""
        if self._version != metaeval.__version__:
            where = f"{socket.gethostname()} has metaeval {metaeval.__version__}"
            return self._broken(
                MetaevalError(
                    f"{where}, and the run has {self._version}; install the same version everywhere"
                )
            )
        logging.getLogger("metaeval").addHandler(self._warnings)
        try:
            self._settings = self._open.enter_context(judging_of(self._options))
        except MetaevalError as error:
            return self._broken(error)
        self._settings.at.update(self._at)
        return AskedShard(self.counts())

    def ask(self, requests: Sequence[Request]) -> AskedShard:
        """Have the store hold a reply to each request, or why there is none."""
        settings = self._settings
        run = RequestRun(
            requests, settings.store, limits=settings.limits, prices=settings.prices, loop=settings.loop
        )
        with self._changing:
            self._runs.append(run)
        empty = ""
        try:
            for answer in run:
                error = answer.reply.error
                if error is not None and error.kind == "budget":
                    empty = error.message
        except MetaevalError as error:
            return self._broken(error)
        finally:
            with self._changing:
                self._over = summed([self._over, run.tally])
                self._runs.remove(run)
        return AskedShard(self.counts(), empty)

    def counts(self) -> WorkerCounts:
        """Return what was done so far."""
        with self._changing:
            tally = summed([self._over, *(run.tally for run in self._runs)])
            waiting = next(filter(None, (run.waiting() for run in self._runs)), "")
        return WorkerCounts(tally, waiting, self._warnings.messages)

    def end(self) -> None:
        """Close the store."""
        self._open.close()

    def _broken(self, error: MetaevalError) -> AskedShard:
        return AskedShard(self.counts(), error=str(error), stopped=isinstance(error, StoppedError))


class _Warnings(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(record.getMessage())
