"""The Compose file keeps to its specification, and what it starts works together; no container is needed."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from packaging.requirements import Requirement
from ruamel.yaml import YAML

from tests.docs.commands import EXTRAS
from tests.docs.pages import DOCS, source
from tests.llm.postgres import PASSWORD, Postgres, programs
from tests.llm.server import Act, Server, always
from tests.tiny import write_study

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

FILE = DOCS / "examples" / "compose.yaml"
GIVEN = {"HEAD": "127.0.0.1", "PGPASSWORD": PASSWORD, "RAY_AUTH_TOKEN": "of-the-tests" * 4}
"""What ``.env`` must say."""
TYPED = re.compile(r"docker compose exec head (metaeval run .+)")
_VARIABLE = re.compile(r"\$\{(?P<name>\w+)(?::(?P<sign>[?-])(?P<word>[^}]*))?\}")


def filled(given: Mapping[str, str]) -> Any:
    """Read the file as Compose does: with variables in place."""

    def value(found: re.Match[str]) -> str:
        name = found["name"]
        if name in given:
            return given[name]
        assert found["sign"] == "-", f"{name} has no value: {found['word']}"
        return found["word"]

    text = "\n".join(line for line in FILE.read_text(encoding="utf-8").splitlines() if line[:1] != "#")
    return YAML(typ="safe").load(_VARIABLE.sub(value, text))


def valid(file: Path) -> bool:
    """Say whether a file is one by the schema of the Compose specification."""
    check = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec", str(file)]
    return subprocess.run(check, capture_output=True, check=False).returncode == 0


def test_it_is_a_compose_file(tmp_path: Path) -> None:
    assert valid(FILE)
    wrong = tmp_path / "compose.yaml"
    wrong.write_text(FILE.read_text(encoding="utf-8").replace("condition:", "conditions:"), encoding="utf-8")
    assert not valid(wrong)


@pytest.mark.parametrize("name", GIVEN)
def test_what_must_be_given_has_no_default(name: str) -> None:
    filled(GIVEN)
    with pytest.raises(AssertionError, match=f"{name} has no value"):
        filled({other: value for other, value in GIVEN.items() if other != name})


def test_images_are_of_versions_that_the_extras_take() -> None:
    services = filled(GIVEN)["services"]
    (wanted,) = map(Requirement, EXTRAS["ray"])
    tag = re.search(r"FROM rayproject/ray:([\d.]+)-", services["head"]["build"]["dockerfile_inline"])
    assert tag is not None
    assert wanted.specifier.contains(tag[1])
    assert services["worker"]["build"] == services["head"]["build"]


def free_port() -> str:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return str(found.getsockname()[1])


@contextlib.contextmanager
def started(command: str, environment: Mapping[str, str], log: Path) -> Iterator[None]:
    """Run a command in a session of its own until the block ends."""
    with log.open("wb") as said:
        process = subprocess.Popen(
            shlex.split(command), env=environment, stdout=said, stderr=said, start_new_session=True
        )
    try:
        yield
    finally:
        process.terminate()  # Ray ends what it has started
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(20)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def wait_for(health: str, environment: Mapping[str, str]) -> None:
    until = time.monotonic() + 90
    while subprocess.run(shlex.split(health), env=environment, capture_output=True, check=False).returncode:
        assert time.monotonic() < until, health
        time.sleep(0.2)


def test_what_it_starts_works_together(tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ray", reason="no Ray: install metaeval[ray]")
    psycopg = pytest.importorskip("psycopg", reason="no psycopg: install metaeval[postgres]")
    found = programs()
    if found is None:
        pytest.skip("no server of PostgreSQL: there is no initdb; apt-get install postgresql")
    given = {**GIVEN, "PGPORT": free_port(), "RAY_PORT": free_port()}
    services = filled(given)["services"]
    store, head, worker = (services[name] for name in ("store", "head", "worker"))
    assert str(store["environment"]["PGPORT"]) == given["PGPORT"]
    monkeypatch.setenv("PGPORT", given["PGPORT"])
    monkeypatch.setenv(
        "PATH", os.pathsep.join([str(Path(sys.executable).parent), str(found), os.environ["PATH"]])
    )
    write_study(tmp_path / "judged.yaml", evaluators="[\"Judge('openai/m')\"]")
    with contextlib.ExitStack() as stack:
        sockets = stack.enter_context(tempfile.TemporaryDirectory(dir="/tmp", ignore_cleanup_errors=True))
        monkeypatch.setenv("RAY_TMPDIR", sockets)  # short, for it is a part of the names of sockets
        server = stack.enter_context(Server(always(Act(text='{"clear": 3, "fitting": 4}'))))
        program, *options = shlex.split(store["command"])
        assert program == "postgres"
        postgres = stack.enter_context(Postgres(found, ["-c", "listen_addresses=127.0.0.1", *options]))
        wait_for(store["healthcheck"]["test"], dict(os.environ))
        with psycopg.connect(postgres.address("postgres"), autocommit=True) as connection:
            connection.execute("CREATE DATABASE metaeval")  # as the image does
        assert {"OPENAI_BASE_URL", "OPENAI_API_KEY"} <= worker["environment"].keys()
        given_both = {name: value for name, value in head["environment"].items() if value is not None}
        inside = os.environ | given_both | {"OPENAI_BASE_URL": server.openai}
        for service, key in ((head, "of-the-head"), (worker, "of-the-worker")):
            own = inside | {"OPENAI_API_KEY": key}
            log = tmp_path / f"{key}.log"
            stack.enter_context(started(service["command"], own, log))
            wait_for(f"grep -q 'Ray runtime started' {log}", inside)
        wait_for(head["healthcheck"]["test"], inside)
        typed = TYPED.search(source("how-to/scale.md"))
        assert typed is not None
        metaeval = [sys.executable, "-m", *shlex.split(typed[1])]
        done = subprocess.run(metaeval, env=inside, capture_output=True, text=True, check=False, timeout=120)
        assert done.returncode == 0, done.stderr
        with psycopg.connect(inside["METAEVAL_STORE"], password=PASSWORD) as connection:
            ((kept,),) = connection.execute("SELECT count(*) FROM metaeval.replies").fetchall()
        assert kept == len(server.log) > 0
        assert {seen.authorization for seen in server.log} == {"Bearer of-the-worker"}
