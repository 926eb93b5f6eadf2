"""What a terminal shows while there is work: soon, of every phase, and within its width."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.study.runs import QUICK
from tests.tiny import write_study

WIDTH = 80
_CODES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@contextmanager
def terminal(command: list[str], width: int = WIDTH) -> Iterator[Iterator[tuple[float, str]]]:
    """Run a command in a terminal; yield what it shows, with the seconds since it was started."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, width, 0, 0))
    environment = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "LINES", "NO_COLOR")}
    environment |= {"TERM": "xterm-256color", "PYTHONPATH": str(ROOT)}
    started = time.monotonic()
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment)
    os.close(theirs)

    def shown() -> Iterator[tuple[float, str]]:
        while True:
            try:
                text = os.read(ours, 1 << 16)
            except OSError:  # the other end is closed
                return
            if not text:
                return
            yield time.monotonic() - started, text.decode(errors="replace")

    try:
        yield shown()
    finally:
        process.kill()
        process.wait()
        os.close(ours)


def lines_of(command: list[str]) -> list[str]:
    """Return every line that a command shows until it ends, without colours."""
    with terminal(command) as shown:
        text = "".join(part for _, part in shown)
    return [line.strip() for line in re.split(r"[\r\n]+", _CODES.sub("", text)) if line.strip()]


@pytest.mark.slow
def test_every_phase_is_shown(tiny: Path) -> None:
    judge = "[\"Judge('simulated/a,latency=0.1')\", \"Annotator('1')\"]"
    write_study(tiny.parent / "s.yaml", **{**QUICK, "evaluators": judge, "details": "true"})
    lines = lines_of([sys.executable, "-m", "metaeval", "run", "s.yaml", "--out", "out"])
    phases = ("scoring", "correlating", "testing", "details", "figures", "report")
    for phase in ("metaeval run s.yaml", "loading the data", "Judge('simulated/a", *phases):
        assert any(phase in line for line in lines), phase
    at = lines.index("Report: out/report.html")
    assert lines[at + 1].startswith("SIMULATED DATA AND JUDGES.")


def test_a_long_description_gives_way_to_count_and_time(tmp_path: Path) -> None:
    """And square brackets in it are no markup."""
    script = tmp_path / "work.py"
    spec = "Judge('openai/llama[13b]', prompt='single-aspect', base_url='http://localhost:8000/v1')"
    note = "12 failed, 77 from store, 123.4 calls/s, 0.52 USD; " + "the server asks to wait " * 5
    script.write_text(
        "import time\n"
        "from metaeval.base.progress import progress, show_progress\n"
        "show_progress(True)\n"
        "with progress('outer'), progress(" + repr(spec) + ", 123_456) as advance:\n"
        f"    advance(1_234, note={note!r})\n"
        "    time.sleep(0.4)\n",
        encoding="utf-8",
    )
    lines = lines_of([sys.executable, str(script)])
    (line,) = {re.sub(r"^\S+ ", "", x) for x in lines if "1,234/123,456" in x}
    assert line.startswith("Judge('openai/llama[13b]'")
    assert re.search(r"… .* 1,234/123,456 0:00:0\d (-:--:--|\d:\d\d:\d\d)$", line)
    assert all(len(x) <= WIDTH for x in lines)
    (said,) = {x for x in lines if x.startswith("12 failed")}
    assert said.startswith("12 failed, 77 from store, 123.4 calls/s, 0.52 USD; the server asks")
    assert said.endswith("…")
