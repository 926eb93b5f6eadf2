"""What several folders of tests need."""

from __future__ import annotations

import contextlib
import gc
import io
import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from filelock import FileLock
from hypothesis import settings

from metaeval.cli import main
from tests.drawn import drawn_run
from tests.examples import examples
from tests.llm.postgres import Postgres, programs
from tests.tiny import write_tiny

# How long an example takes says more of what else the machine does; pytest-timeout ends what hangs.
# The same examples are drawn every time: what passed here passes elsewhere.
settings.register_profile("metaeval", deadline=None, derandomize=True, max_examples=examples())
settings.load_profile("metaeval")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # As a shell's background job leaves it, and as every process started from here would have it.
    signal.signal(signal.SIGINT, signal.default_int_handler)

ROOT = Path(__file__).resolve().parent.parent


def pytest_collection_finish() -> None:
    """Spare the collector what is there for good: the libraries, and the tests themselves."""
    gc.collect()
    gc.freeze()


def pytest_unconfigure() -> None:
    """Let the collector have all of it, since libraries complain of what is left at the end."""
    gc.unfreeze()


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of public research data; it is never part of the project."""
    folder = Path(os.environ.get("METAEVAL_REAL_DATA") or ROOT.parent / "shared" / "data")
    if not folder.is_dir():
        pytest.skip(f"no real data: {folder} is not there; set METAEVAL_REAL_DATA")
    return folder


@pytest.fixture(scope="session")
def once(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, Callable[[Path], object]], Path]:
    """A function that returns a folder of a name, filled once however many processes run the tests."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base

    def folder(name: str, fill: Callable[[Path], object]) -> Path:
        path, filled = shared / name, shared / f"{name}.filled"
        with FileLock(shared / f"{name}.lock"):
            if not filled.exists():
                path.mkdir()
                fill(path)
                filled.touch()
        return path

    return folder


@pytest.fixture(scope="session")
def demo_of(once: Callable[[str, Callable[[Path], object]], Path]) -> Callable[[str], Path]:
    """A function that returns a folder in which the demo of a kind was run, 80 columns wide.

    ``printed.txt`` is what it said.
    """

    def demo(kind: str) -> Path:
        def fill(folder: Path) -> None:
            with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(io.StringIO()) as said:
                patch.chdir(folder)
                patch.setenv("METAEVAL_STORE", str(folder / "replies.sqlite"))
                patch.setenv("COLUMNS", "80")
                assert main(["demo", "--kind", kind]) == 0
            (folder / "printed.txt").write_text(said.getvalue(), encoding="utf-8")

        return once(f"demo-{kind}", fill)

    return demo


@pytest.fixture(scope="session")
def demo(demo_of: Callable[[str], Path]) -> Path:
    """A folder in which ``metaeval demo`` was run."""
    return demo_of("explanations")


@pytest.fixture(scope="session")
def drawn(once: Callable[[str, Callable[[Path], object]], Path]) -> Path:
    """A small run that has something for every figure."""
    return once("drawn", drawn_run) / "out"


@pytest.fixture(scope="module")
def evaluate_offline(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep the caches of the `evaluate` library in a temporary folder, and the library off the net."""

    def forget() -> None:
        # Python remembers where the library's copies of modules lie, those of other tests too.
        for name in [name for name in sys.modules if name.split(".")[0] == "evaluate_modules"]:
            del sys.modules[name]

    cache = tmp_path_factory.mktemp("evaluate")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("evaluate.config.HF_MODULES_CACHE", cache / "modules")
        patch.setattr("evaluate.config.HF_METRICS_CACHE", cache / "metrics")
        patch.setattr("evaluate.config.HF_EVALUATE_OFFLINE", True)
        patch.setattr("sys.path", sys.path[:])
        forget()
        yield
        forget()


@pytest.fixture(scope="session", autouse=True)
def no_store_of_the_user(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep replies of fixtures of a module or session apart from the user's own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("METAEVAL_STORE", str(tmp_path_factory.mktemp("store") / "replies.sqlite"))
        yield


@pytest.fixture(autouse=True)
def own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep replies apart from the user's own, and from those of other tests."""
    path = tmp_path / "replies.sqlite"
    monkeypatch.setenv("METAEVAL_STORE", str(path))
    return path


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A server of PostgreSQL."""
    pytest.importorskip("psycopg", reason="no psycopg: install metaeval[postgres]")
    found = programs()
    if found is None:
        pytest.skip("no server of PostgreSQL: there is no initdb; apt-get install postgresql")
    with Postgres(found) as server:
        yield server


@pytest.fixture(scope="session")
def sample() -> Path:
    """The bundled, simulated study."""
    return ROOT / "data" / "sample"


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data set of 18 units made by hand, in the folder that the test works in."""
    monkeypatch.chdir(tmp_path)
    return write_tiny(tmp_path / "tiny")


@pytest.fixture
def fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Path], Path]:
    """A function that copies a folder, made once for many tests, into the one that the test works in."""

    def copied(made: Path) -> Path:
        monkeypatch.chdir(tmp_path)
        return Path(shutil.copytree(made, tmp_path, dirs_exist_ok=True))

    return copied
