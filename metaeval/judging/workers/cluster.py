"""The Ray cluster for workers: an existing one, or one on this machine for the run."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import socket
import tempfile
import threading
from typing import TYPE_CHECKING

from metaeval.base.errors import MetaevalError
from metaeval.judging.workers.options import check_shared

if TYPE_CHECKING:
    from collections.abc import Iterator

    from metaeval.judging.settings import JudgingOptions

_OBJECTS = 80_000_000  # bytes for shards under way; Ray takes no less than 75 MB
_CONNECT_SECONDS = 10.0
_QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",  # which would be sent away
    "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0",  # which would upload the working directory
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # which warns of a default that will change
}


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
    try:
        _connect(address, judging)
        _check_machines(judging)
        yield
    finally:
        ray.shutdown()
        if before is not None:
            signal.signal(signal.SIGTERM, before)


def _connect(address: str | None, judging: JudgingOptions) -> None:
    import ray

    quiet = {"log_to_driver": False, "configure_logging": False}
    if address is not None:
        try:
            _check_answers(address)
            ray.init(address, **quiet)
        except Exception as error:  # Ray has many
            said = " ".join(str(error).split())[:300]
            raise MetaevalError(
                f"no Ray cluster can be used at {address} ({said}); start one with `ray start --head`, or "
                f"leave the address out for one on this machine"
            ) from error
        return
    with _store_in_environment(judging.store):
        ray.init(
            "local",
            include_dashboard=False,
            object_store_memory=_OBJECTS,
            _plasma_directory=tempfile.gettempdir(),  # /dev/shm may be small
            **quiet,
        )


def _check_answers(address: str) -> None:
    """Raise `OSError` if no one is there: Ray itself tries for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if port.isdecimal():
        socket.create_connection((host.strip("[]"), int(port)), timeout=_CONNECT_SECONDS).close()


@contextlib.contextmanager
def _store_in_environment(store: str | None) -> Iterator[None]:
    """Have what is started inherit the address of the store, with its password."""
    before = os.environ.get("METAEVAL_STORE")
    try:
        if store is not None:
            os.environ["METAEVAL_STORE"] = store
        yield
    finally:
        if store is not None:
            del os.environ["METAEVAL_STORE"]
        if before is not None:
            os.environ["METAEVAL_STORE"] = before


def _check_machines(judging: JudgingOptions) -> None:
    import ray

    machines = sum(bool(node["Alive"]) for node in ray.nodes())
    if machines > 1:
        check_shared(judging, f"a Ray cluster of {machines} machines")
