"""Every test of the store runs on a file and on a database."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from metaeval.llm.store.replies import Store


@pytest.fixture
def store(place: str) -> Iterator[Store]:
    with Store(place) as opened:
        yield opened
