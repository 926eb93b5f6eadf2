"""A cluster of Ray for all tests of workers, since one takes seconds to start."""

from __future__ import annotations

import os
import signal
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from metaeval.judging.cluster import cluster
from metaeval.judging.settings import JudgingOptions
from tests.kinds.explanations.judge.test_judge import KEY

_NAME = "METAEVAL_TEST_CLUSTER"


def started_with(mark: str) -> list[int]:
    """Return the processes that live and have inherited a mark."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            inherited = f"{_NAME}={mark}".encode() in (process / "environ").read_bytes().split(b"\0")
        except OSError:  # it has ended, or is somebody else's
            continue
        if inherited and int(process.name) != os.getpid():
            found.append(int(process.name))
    return found


def is_worker(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes().startswith(b"ray::Worker")
    except OSError:
        return False


@pytest.fixture
def marked() -> tuple[dict[str, str], Callable[[], list[int]]]:
    """What marks processes in their environment, and a function that returns those that live."""
    mark = uuid.uuid4().hex
    return {_NAME: mark}, lambda: started_with(mark)


@pytest.fixture(scope="package")  # its servers never rest
def ray_cluster() -> Iterator[Callable[[], list[int]]]:
    """A cluster that is up; a function that returns the workers that live."""
    pytest.importorskip("ray", reason="no Ray: install metaeval[ray]")
    mark = uuid.uuid4().hex
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(_NAME, mark)
        patch.setenv("OPENAI_API_KEY", KEY)
        with cluster(None, JudgingOptions()):
            yield lambda: [process for process in started_with(mark) if is_worker(process)]


def kill(process: int) -> None:
    os.kill(process, signal.SIGKILL)
