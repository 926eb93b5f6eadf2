"""Processes that are killed lose nothing, and nothing is asked twice but what was in flight at a kill."""

from __future__ import annotations

import pytest

from metaeval.llm.store.replies import Store
from tests.llm.postgres import Postgres
from tests.llm.store.many import Watching, ordeal

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_many_processes_are_killed(
    kind: str, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> None:
    postgres: Postgres | None = request.getfixturevalue("postgres") if kind == "postgresql" else None
    place = postgres.new() if postgres else str(tmp_path_factory.mktemp("many") / "s.sqlite")
    number = 400
    with Watching() as server:
        seen = ordeal(server, place, postgres, processes=3, number=number, kills=3)
    assert seen.answered == number
    assert seen.again == []
    assert seen.unexplained == []
    assert seen.kills == 3
    assert seen.twice <= 3 * 8 + (6 * 8 if postgres else 0)
    with Store(place) as store:
        assert store.rows("SELECT count(*) FROM claims") == [(0,)]
