"""``metaeval providers``, as it is typed."""

from __future__ import annotations

import io
import json

import pandas as pd
import pytest

from metaeval.cli import main
from metaeval.llm.providers import PROVIDERS

KEY = "sk-never-to-be-seen-4711"


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys of two providers alone."""
    for provider in PROVIDERS.values():
        for name in filter(None, (provider.key_variable, provider.address_variable)):
            monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    monkeypatch.setenv("VLLM_API_KEY", KEY)
    monkeypatch.setenv("GROQ_API_KEY", "  ")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://localhost:4000/v1/")


def test_a_line_per_provider(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["providers", "--format", "csv"]) == 0
    out, err = capsys.readouterr()
    rows = pd.read_csv(io.StringIO(out), keep_default_na=False).set_index("name")
    lines = {name: " ".join(row).strip() for name, row in zip(rows.index, rows.to_numpy(), strict=True)}
    assert list(lines) == list(PROVIDERS)
    assert lines["anthropic"] == "https://api.anthropic.com/v1 ANTHROPIC_API_KEY (set)"
    assert lines["openai"] == "http://localhost:4000/v1 OPENAI_API_KEY (not set)"
    assert lines["groq"] == "https://api.groq.com/openai/v1 GROQ_API_KEY (not set)"
    assert lines["ollama"] == "http://localhost:11434/v1 OLLAMA_API_KEY (not set, not needed)"
    assert lines["vllm"] == "http://localhost:8000/v1 VLLM_API_KEY (set)"
    assert lines["simulated"] == "(no address) no key"
    assert "set AZURE_OPENAI_ENDPOINT" in lines["azure"]
    assert KEY not in out + err


def test_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["providers", "--json"]) == 0
    out = capsys.readouterr().out
    found = {one["name"]: one for one in json.loads(out)}
    assert {name for name, one in found.items() if one["key_is_set"]} == {"anthropic", "vllm"}
    assert {name for name, one in found.items() if one["problem"]} == {"azure"}
    assert found["mistral"]["address"] == "https://api.mistral.ai/v1"
    assert found["mistral"]["key_variable"] == "MISTRAL_API_KEY"
    assert KEY not in out


def test_an_address_that_holds_a_password_is_not_shown(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", f"https://me:{KEY}@gateway.example/v1")
    assert main(["providers"]) == 0
    out = capsys.readouterr().out
    assert "the base_url for gateway.example has a user name" in " ".join(out.split())
    assert KEY not in out
