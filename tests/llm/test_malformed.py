"""Responses that are none: each is a typed failure, and the run goes on."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from metaeval.llm.calls.limits import Limits
from metaeval.llm.calls.request import Message, Request
from metaeval.llm.store.replies import Store
from tests.llm.asking import KEY, running
from tests.llm.raw_server import MALFORMED, TOLERATED, Send, bomb, http, serving_raw

LIMITS = Limits(concurrency=8, reply_seconds=4.0, retries=0, patience_seconds=30)


@pytest.mark.slow
@pytest.mark.parametrize("provider", ["openai", "dashscope"])
def test_malformed_responses_are_failures_of_their_calls_alone(store: Store, provider: str) -> None:
    names = [*MALFORMED, *TOLERATED]
    texts = [text for name in names for text in (f"Answer {name}", f"This is fine: {name}")]
    with serving_raw() as server:
        address = server.dashscope if provider == "dashscope" else server.openai
        asked = [Request(provider, "m", (Message("user", text),), {}, address) for text in texts]
        answers = {texts[a.position]: a.reply for a in running(asked, store, limits=LIMITS)}
    lost = {name: answers[f"Answer {name}"].error for name in MALFORMED}
    assert [name for name, error in lost.items() if error is None] == []
    assert {e.kind for e in lost.values() if e} == {"transport", "rejected", "denied"}
    assert [
        e for e in lost.values() if e and not (e.message and len(e.message) < 1000 and len(e.code) < 100)
    ] == []
    assert [name for name in TOLERATED if answers[f"Answer {name}"].error] == []
    fine = {name: answers[f"This is fine: {name}"] for name in names}
    assert {name: reply.error for name, reply in fine.items() if reply.text != "Summary: 3"} == {}
    assert KEY not in str(answers)


PEAK = """
import re, runpy, sys
from pathlib import Path
runpy.run_module("tests.llm.asking", run_name="__main__", alter_sys=True)
print(re.search(r"VmHWM:\\s*(\\d+)", Path("/proc/self/status").read_text())[1])
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("send", [http(b" " * (50 << 20)), bomb()], ids=["50 MB", "gzip bomb"])
def test_what_is_too_long_takes_no_memory(tmp_path: Path, send: Send) -> None:
    with serving_raw(lambda _request: send) as server:
        command = [sys.executable, "-c", PEAK, str(tmp_path / "s.sqlite"), server.openai, "6"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert len(server.log) == 6  # what is too long is not asked again
    number, kilobytes = map(int, done.stdout.split())
    assert number == 6
    assert kilobytes < 200_000  # about 100 MB without any reply
