"""A command that serves the page to label on, as a process of its own, and what a page asks it."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tests.conftest import ROOT


class Served:
    """The process, once its page can be opened."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout
        self.process, self.address = process, process.stdout.readline().strip()

    def ask(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Post what the page would, and return the answer."""
        with urllib.request.urlopen(self.address, json.dumps(request).encode(), timeout=120) as answer:  # noqa: S310 - our own
            return dict(json.load(answer))

    def ended(self) -> tuple[int, str]:
        """Return the exit code after Ctrl-C, and what was printed since."""
        self.process.send_signal(signal.SIGINT)
        out, _ = self.process.communicate(timeout=240)
        return self.process.returncode, out


@contextlib.contextmanager
def labelling(*arguments: str, browser: Path | None = None) -> Iterator[Served]:
    """Start a command with a program as the browser, or ``--no-browser``; it is killed at the end."""
    process = subprocess.Popen(
        [sys.executable, "-m", "metaeval", *arguments, *([] if browser else ["--no-browser"])],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), "BROWSER": f"{browser} %s"},
    )
    try:
        yield Served(process)
    finally:
        process.kill()
        process.communicate()
