"""Fixtures of the tests of clients, runner and store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from metaeval.llm.store.replies import Store
from tests.llm.asking import KEY


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Keys that are none, no address of the machine's own, and a store that is nobody's."""
    for name in ("OPENAI_API_KEY", "DASHSCOPE_API_KEY"):
        monkeypatch.setenv(name, KEY)
    for name in ("OPENAI_BASE_URL", "DASHSCOPE_HTTP_BASE_URL", "DASHSCOPE_COMPATIBLE_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delenv("METAEVAL_CONCURRENCY", raising=False)
    monkeypatch.setenv("METAEVAL_STORE", str(tmp_path / "default.sqlite"))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "replies.sqlite") as opened:
        yield opened


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a store may lie: a file, or a database, which is not there yet or empty."""
    if request.param == "sqlite":
        return str(tmp_path / "new" / "replies.sqlite")
    return str(request.getfixturevalue("postgres").new())
