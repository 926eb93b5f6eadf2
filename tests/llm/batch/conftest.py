"""The batches of a store, too, are the same in a file and in a database."""

import pytest

from tests.llm.store.conftest import store

__all__ = ["store"]


@pytest.fixture(autouse=True)
def listed_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a batch be in the server's list at once, unless a test says otherwise."""
    monkeypatch.setattr("metaeval.llm.batch.batches._LISTED", 0.0)
