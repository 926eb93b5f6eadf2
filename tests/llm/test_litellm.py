"""LiteLLM's proxy, a real server of somebody else's: mock models, and a limit of requests per minute.

It needs a good many packages, so it lives in an environment of its own, made by ``pip install
'litellm[proxy]'``; the program ``litellm`` there is named in ``METAEVAL_LITELLM``.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
import urllib.request
from typing import TYPE_CHECKING

import pandas as pd
import pytest

import metaeval as me
from metaeval.base.errors import MetaevalError
from metaeval.base.records import Scale
from metaeval.judging.settings import judging

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PROGRAM = os.environ.get("METAEVAL_LITELLM") or shutil.which("litellm")
pytestmark = [
    pytest.mark.skipif(not PROGRAM, reason="no LiteLLM: name its program in METAEVAL_LITELLM"),
    pytest.mark.timeout(240),
]
KEY = "sk-litellm"
UNITS, A_MINUTE = 320, 250
CONFIG = f"""
model_list:
  - model_name: mock
    litellm_params:
      {{model: openai/m, api_key: none, rpm: {A_MINUTE}, mock_response: '{{"clear": 3, "fitting": 4}}'}}
  - model_name: thinks
    litellm_params: {{model: openai/o3-mini, api_key: none, mock_response: '{{"clear": 3, "fitting": 4}}'}}
  - model_name: claude
    litellm_params: {{model: anthropic/claude-opus-4-1, api_key: none, mock_response: '{{"clear": 3}}'}}
router_settings: {{routing_strategy: usage-based-routing-v2, num_retries: 0, disable_cooldowns: true}}
general_settings: {{master_key: {KEY}}}
"""


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a proxy that runs."""
    folder = tmp_path_factory.mktemp("litellm")
    (folder / "config.yaml").write_text(CONFIG)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    away = {"LITELLM_TELEMETRY": "False", "LITELLM_LOCAL_MODEL_COST_MAP": "True"}  # it asks nobody else
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(
            [str(PROGRAM), "--config", "config.yaml", "--host", "127.0.0.1", "--port", str(port)],
            cwd=folder,
            env={**{k: v for k, v in os.environ.items() if k != "PYTHONPATH"}, **away},
            stdout=log,
            stderr=log,
        )
    try:
        for _ in range(600):
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/health/liveliness", timeout=1).close()
                break
            except OSError:
                assert process.poll() is None, (folder / "log").read_text()
                time.sleep(0.1)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.terminate()
        process.wait(10)


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> me.ExplanationSet:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LITELLM_API_KEY", KEY)
    units = pd.DataFrame(
        {
            "user_id": f"u{i % 10}",
            "item_id": f"i{i}",
            "generator": "g",
            "explanation": f"You liked number {i}.",
        }
        for i in range(UNITS)
    )
    ratings = units.drop(columns="explanation").assign(rater="user", aspect="clear", rating=3)
    both = pd.concat([ratings, ratings.assign(aspect="fitting")])
    return me.from_frames(
        units, both, aspects={"clear": "It is clear.", "fitting": "It fits."}, scale=Scale(1, 5)
    )


def test_no_call_is_lost_at_a_limit(data: me.ExplanationSet, proxy: str) -> None:
    with judging() as settings:
        table = me.score(data, [f"Judge('litellm/mock', base_url='{proxy}')"])
    assert table.frame["status"].eq("ok").all()
    assert table.frame["score"].value_counts().to_dict() == {3: UNITS, 4: UNITS}
    (tally,) = settings.tallies
    assert tally.lost == {}
    assert tally.calls > UNITS  # some were refused, and asked again


def test_what_it_refuses_is_met_once(data: me.ExplanationSet, proxy: str) -> None:
    with judging() as settings:
        table = me.score(data, [f"Judge('litellm/thinks', base_url='{proxy}')"])
        with pytest.raises(MetaevalError, match="leave expected out"):
            me.score(
                data, [f"Judge('litellm/claude', prompt='single-aspect', expected=True, base_url='{proxy}')"]
            )
    assert table.frame["status"].eq("ok").all()
    assert settings.tallies[0].calls == UNITS + 1
    (signature,) = table.signatures.values()
    assert signature["sent"] == ["without temperature"]
