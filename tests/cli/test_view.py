"""``metaeval view`` as a process of its own: served, opened in a browser, interrupted."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from http.client import HTTPConnection
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

from tests.conftest import ROOT
from tests.study.runs import tiny_run
from tests.tiny import write_tiny

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("view")
    write_tiny(folder / "tiny")
    return tiny_run(folder, "run")


def view(*arguments: object, browser: Path | None = None) -> subprocess.Popen[str]:
    opened = {} if browser is None else {"BROWSER": f"{browser} %s"}
    return subprocess.Popen(
        [sys.executable, "-m", "metaeval", "view", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), **opened},
    )


def interrupted(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    """Return the exit code after Ctrl-C, and what was printed since."""
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    return process.returncode, out, err


def test_it_is_served_until_it_is_interrupted(run: Path) -> None:
    process = view(run, "--no-browser")
    try:
        address = process.stdout.readline().strip()
        assert address.startswith("http://127.0.0.1:")
        with contextlib.closing(HTTPConnection(urlsplit(address).netloc, timeout=30)) as connection:
            connection.request("GET", "/run/report.html")
            assert connection.getresponse().read() == (run / "report.html").read_bytes()
        assert interrupted(process) == (0, "", "")
    finally:
        process.kill()
        process.communicate()


def test_a_browser_is_opened_at_the_address(run: Path, tmp_path: Path) -> None:
    browser = tmp_path / "browser"
    browser.write_text('#!/bin/sh\necho "$1" > "$0.opened"\n', encoding="utf-8")
    browser.chmod(0o755)
    process = view(run, "--json", browser=browser)
    try:
        address = json.loads(process.stdout.readline())["address"]
        opened, until = tmp_path / "browser.opened", time.monotonic() + 30
        while not (opened.exists() and opened.read_text(encoding="utf-8")):
            assert time.monotonic() < until
            time.sleep(0.02)
        assert opened.read_text(encoding="utf-8").strip() == address
        assert interrupted(process) == (0, "", "")
    finally:
        process.kill()
        process.communicate()


def test_wrong_input_is_one_line(run: Path, tmp_path: Path) -> None:
    for arguments, message in (
        ([tmp_path / "none"], "there is no run folder"),
        ([run, "--port", "65536"], "--port"),
        ([], "Missing argument 'RUN...'"),
    ):
        process = view(*arguments, "--no-browser")
        out, err = process.communicate(timeout=60)
        assert (process.returncode, out) == (2, "")
        assert err.startswith("metaeval: ")
        assert message in err
        assert err.count("\n") == 1
