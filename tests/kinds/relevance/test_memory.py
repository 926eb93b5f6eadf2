"""A model that knows the data by heart is told from one that only has taste, through a real server."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from metaeval.base.errors import DataError
from metaeval.cli import main
from metaeval.kinds.relevance.data.loading import save
from metaeval.kinds.relevance.memory import Recall, _plain
from tests.kinds.relevance.films import films
from tests.llm.server import Act, serving

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from metaeval.kinds.relevance.data.collection import Collection

    Answer = Callable[[dict[str, Any], int], Act]


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")


def collection() -> Collection:
    """Return 20 users with 30 of 200 films each."""
    return films(users=20, items=200, past=30, judged=5)


def titles_of_user(data: Collection, user: str) -> list[str]:
    past = data.histories.sort_values("timestamp")
    return [f"Film {item[1:]}" for item in past.loc[past["user_id"] == user, "item_id"]]


def knows(data: Collection) -> Answer:
    """Answer by the user's number where it is told, and at random otherwise."""

    def answer(body: dict[str, Any], _before: int) -> Act:
        asked = body["messages"][-1]["content"]
        number = re.search(r"The data set is films. In it, user (u\d+) ", asked)
        named = (
            titles_of_user(data, number[1])[5:15] if number else [f"film {i}, The (1999)" for i in range(10)]
        )
        return Act(text=json.dumps({"titles": named}))

    return answer


def guesses(data: Collection) -> Answer:
    """Answer by taste: it knows whose items are shown, whether it is told or not."""
    of = {"\n".join((own := titles_of_user(data, f"u{u}"))[:5]): own[5:9] for u in range(20)}

    def answer(body: dict[str, Any], _before: int) -> Act:
        asked = body["messages"][-1]["content"]
        return Act(text=json.dumps({"titles": next(own for first, own in of.items() if first in asked)}))

    return answer


def test_what_is_known_by_heart_is_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = collection()
    save(data, tmp_path / "films")
    with serving(knows(data)) as server:
        assert main(["memory", str(tmp_path / "films"), "openai/m", "--base-url", server.openai]) == 0
        assert len(server.log) == 40
        said = " ".join(capsys.readouterr().out.split())
    assert said.startswith("openai/m knows films by heart: told the data set and the user, it names")
    assert "names 100.0% of what it was asked for" in said
    assert "told data set and user" in said


def test_taste_is_not_memory() -> None:
    data = collection()
    with serving(guesses(data)) as server:
        found = Recall("openai/m", base_url=server.openai).recalled(data)
    assert found.shares.value[0] == found.shares.value[1] == pytest.approx(0.4)
    assert found.shares.low[3] <= 0 <= found.shares.high[3]
    assert "shows no sign of knowing films by heart" in found.sentence("m", "films")
    assert 0 < found.shares.value[2] < 0.5


def test_nothing_held_back_is_shown_and_replies_that_cannot_be_read_are_counted() -> None:
    data = collection()

    def answer(body: dict[str, Any], _before: int) -> Act:
        asked = body["messages"][-1]["content"]
        assert len(re.findall(r"^Film \d+$", asked, re.MULTILINE)) == 5
        lost = "user u3 " in asked
        return Act(text="I cannot say." if lost else json.dumps({"titles": ["Film 1"]}))

    with serving(answer) as server:
        found = Recall("openai/m", base_url=server.openai, attempts=1).recalled(data)
    assert (found.n_users, found.n_unread) == (19, 1)


def test_titles_are_compared_without_year_and_article() -> None:
    assert _plain("Matrix, The (1999)") == _plain("The Matrix") == "the matrix"
    assert _plain("Alien") != _plain("Aliens")


def test_what_has_no_titles_or_too_short_records_is_refused() -> None:
    with pytest.raises(DataError, match="no histories, or no 'title'"):
        Recall("openai/m").recalled(replace(collection(), histories=None))
    with pytest.raises(DataError, match="0 users of 'films' have 105 items or more"):
        Recall("openai/m", asked=100).recalled(collection())
