"""Every test of the store runs on a file and on a database."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from metaeval.llm.store.replies import Store

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def store(place: str) -> Iterator[Store]:
    with Store(place) as opened:
        yield opened
