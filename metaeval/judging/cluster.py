"""The workers of a run: how many, and their Ray cluster: one that is there, or one for the run."""

from __future__ import annotations

import atexit
import contextlib
import logging
import os
import signal
import socket
import tempfile
import threading
from collections.abc import Iterator
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from metaeval.base.errors import MetaevalError, MissingExtraError, one_of
from metaeval.base.parallel import ENGINES, RAY, within
from metaeval.base.validation import Line, Options
from metaeval.llm.store.rows import is_address

if TYPE_CHECKING:
    from metaeval.judging.settings import JudgingOptions

_OBJECTS = 80_000_000  # bytes for shards under way; Ray takes no less than 75 MB
_CONNECT_SECONDS = 10.0
_QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",  # which would be sent away
    "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0",  # which would upload the working directory
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # which warns of a default that will change
}


class Workers(Options):
    """The workers of a run.

    Parameters
    ----------
    workers
        How many; as many as the cluster has CPUs, or GPUs if they run the models, if left out.
    address
        Of a Ray cluster; one on this machine is started for the run, if left out.
    """

    workers: Annotated[int | None, Field(ge=1, le=10_000, description="a whole number from 1 to 10,000")] = (
        None
    )
    address: Annotated[Line | None, Field(description="that of a Ray cluster, such as 10.0.0.1:6379")] = None

    @property
    def flags(self) -> list[str]:
        """The options of the command line that say so."""
        number = [] if self.workers is None else ["--workers", str(self.workers)]
        return ["--engine", RAY, *number, *(["--address", self.address] if self.address else [])]


def workers_of(
    judging: JudgingOptions, engine: str | None, workers: int | None = None, address: str | None = None
) -> Workers | None:
    """Return the workers that are asked for; None if this process asks.

    Raises
    ------
    MetaevalError
        If they cannot ask for a study with these options of ``judging``.
    """
    given = Workers(workers=workers, address=address)
    if engine is not None:
        one_of(engine, ENGINES, "there is no engine", "engines")
    if engine != RAY:
        if workers is not None or address is not None:
            raise MetaevalError(f"workers and address are for engine {RAY!r}; name it too, or leave them out")
        return None
    if judging.batch:
        raise MetaevalError(f"judges are asked by batches or by engine {RAY!r}, not by both; leave one out")
    if address is not None:
        check_shared(judging, f"the Ray cluster at {address}")
    if find_spec("ray") is None:
        raise MissingExtraError(f"engine {RAY!r}", "ray")
    return given


def check_shared(judging: JudgingOptions, where: str) -> None:
    """Raise `MetaevalError` unless workers on several machines can use the store."""
    place = judging.place.name
    if not is_address(place):
        raise MetaevalError(
            f"the workers of {where} cannot share the file {place}; name a database as the store, in "
            f"judging: {{store: postgresql://…}} or in METAEVAL_STORE"
        )


@contextlib.contextmanager
def cluster(address: str | None, judging: JudgingOptions) -> Iterator[None]:
    """Use the cluster at an address, or one of this machine's own, inside the block.

    A program that has connected to a cluster before uses that one, and stays connected.

    Raises
    ------
    MetaevalError
        If the cluster cannot be used, or has machines that cannot share the store.
    """
    os.environ |= _QUIET
    import ray

    logging.getLogger("ray").setLevel(logging.ERROR)  # which Ray sets when it is imported

    if ray.is_initialized():
        _check_machines(judging)
        yield
        return
    main = threading.current_thread() is threading.main_thread()
    before = signal.getsignal(signal.SIGTERM) if main else None  # which Ray replaces
    seconds = _CONNECT_SECONDS
    try:
        _connect(address, judging)
        _check_machines(judging)
        yield
    except KeyboardInterrupt:
        seconds = 1.0
        raise
    finally:
        try:
            within(seconds, ray.shutdown)
        except TimeoutError:  # the cluster is gone, and Ray would wait for it when the program ends too
            atexit.unregister(ray.shutdown)
        if before is not None:
            signal.signal(signal.SIGTERM, before)


def _connect(address: str | None, judging: JudgingOptions) -> None:
    import ray

    quiet = {"log_to_driver": False, "configure_logging": False}
    before = os.environ.get("METAEVAL_STORE", "")
    try:
        if address is not None:
            _check_answers(address)
            ray.init(address, **quiet)
            return
        if not judging.place.withheld:
            os.environ["METAEVAL_STORE"] = judging.store or before  # workers inherit it, with its password
        ray.init(
            "local",
            include_dashboard=False,
            object_store_memory=_OBJECTS,
            _plasma_directory=tempfile.gettempdir(),  # /dev/shm may be small
            **quiet,
        )
    except Exception as error:  # Ray has many
        said = " ".join(str(error).split())[:300]
        raise MetaevalError(
            f"Ray cannot be started on this machine ({said})"
            if address is None
            else f"no Ray cluster can be used at {address} ({said}); start one with `ray start --head`, or "
            f"leave the address out for one on this machine"
        ) from error
    finally:
        os.environ["METAEVAL_STORE"] = before


def _check_answers(address: str) -> None:
    """Raise `OSError` if no one is there: Ray itself tries for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if port.isdecimal():
        socket.create_connection((host.strip("[]"), int(port)), timeout=_CONNECT_SECONDS).close()


def _check_machines(judging: JudgingOptions) -> None:
    import ray

    machines = sum(bool(node["Alive"]) for node in ray.nodes())
    if machines > 1:
        check_shared(judging, f"a Ray cluster of {machines} machines")
