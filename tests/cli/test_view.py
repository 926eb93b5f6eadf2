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
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.conftest import ROOT
from tests.study.runs import tiny_run
from tests.tiny import write_tiny


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
    out, err = process.communicate(timeout=240)
    return process.returncode, out, err


@pytest.mark.slow
def test_it_is_served_until_it_is_interrupted(run: Path) -> None:
    process = view(run, "--no-browser")
    try:
        address = process.stdout.readline().strip()
        assert address.startswith("http://127.0.0.1:")
        with contextlib.closing(HTTPConnection(urlsplit(address).netloc, timeout=120)) as connection:
            connection.request("GET", urlsplit(address).path)
            page = connection.getresponse().read().decode()
            report = page.partition('<h3><a href="')[2].partition('"')[0]
            connection.request("GET", f"{urlsplit(address).path}{report}")
            assert connection.getresponse().read() == (run / "report.html").read_bytes()
        assert interrupted(process) == (0, "", "")
    finally:
        process.kill()
        process.communicate()


@pytest.mark.slow
def test_a_browser_is_opened_at_a_file_that_leads_to_the_address(run: Path, tmp_path: Path) -> None:
    browser = tmp_path / "browser"
    browser.write_text(
        '#!/bin/sh\ncat "${1#file://}" > "$0.part"\nmv "$0.part" "$0.opened"\n', encoding="utf-8"
    )
    browser.chmod(0o755)
    process = view(run, "--json", browser=browser)
    try:
        address = json.loads(process.stdout.readline())["address"]
        opened, until = tmp_path / "browser.opened", time.monotonic() + 240
        while not opened.exists():
            assert time.monotonic() < until
            time.sleep(0.02)
        assert f"url={address}" in opened.read_text(encoding="utf-8")
        assert interrupted(process) == (0, "", "")
    finally:
        process.kill()
        process.communicate()
