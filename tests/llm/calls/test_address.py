"""One request of a group is sent before the others."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from metaeval.llm.calls.request import Request
from metaeval.llm.store.replies import Store
from tests.llm.asking import FAST, running
from tests.llm.server import Act, Server, first, serving

LOST = Act("status", status=400, body={"error": {"message": "this will not do", "code": "bad"}})


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")


def about(users: int, items: int, server: Server) -> Iterator[Request]:
    bare = Request("openai", "m", (), base_url=server.openai)
    for user in range(users):
        profile = [("system", "Judge."), ("user", f"The profile of user {user}.")]
        for item in range(items):
            yield bare.asking([*profile, ("user", f"Item {item}")], shares=True)


def watched(server: Server, profiles: list[str]) -> dict[str, list[int]]:
    """Return of each profile how many of its calls were under way, or over, when each of them came."""
    seen: dict[str, list[int]] = {profile: [] for profile in profiles}
    behave = server.behave

    def watch(body: dict[str, Any], before: int) -> Act:
        profile = body["messages"][1]["content"]
        seen[profile].append(server.over[profile])
        return behave(body, before)

    server.behave = watch
    return seen


class Counting(Server):
    """A server that counts the answers about each profile."""

    over: dict[str, int]

    async def _act(self, request: Any, act: Act, body: dict[str, Any]) -> Any:
        answer = await super()._act(request, act, body)
        self.over[body["messages"][1]["content"]] += 1
        return answer


@pytest.mark.parametrize("act", [Act(), LOST])
def test_the_first_call_of_a_profile_is_over_before_the_second(store: Store, act: Act) -> None:
    """Also where the first fails."""
    profiles = [f"The profile of user {user}." for user in range(4)]
    lost = set(profiles)

    def behave(body: dict[str, Any], _before: int) -> Act:
        profile = body["messages"][1]["content"]
        fails = profile in lost
        lost.discard(profile)
        return act if fails else Act()

    with Counting(behave, delay=0.02) as server:
        server.over = dict.fromkeys(profiles, 0)
        seen = watched(server, profiles)
        answers = list(running(about(4, 30, server), store, limits=FAST))
    assert len(answers) == 120
    assert sum(a.reply.error is not None for a in answers) == (4 if act is LOST else 0)
    for over in seen.values():
        assert over[0] == 0
        assert min(over[1:]) >= 1
    assert server.most_in_flight > 4  # those that wait for a profile keep no other from being sent


def test_profiles_do_not_wait_for_each_other(store: Store) -> None:
    """The first calls of the next profiles are made while the others of one are."""
    with serving(first(), delay=0.02) as server:
        answers = list(running(about(6, 12, server), store, limits=FAST))
        orders = [json.dumps(s.body["messages"][1]) for s in server.log]
    assert len(answers) == 72
    firsts = [orders.index(order) for order in dict.fromkeys(orders)]
    assert firsts[-1] < 72 - 12 + 1


def test_what_is_in_the_store_warms_no_cache(store: Store) -> None:
    with serving(delay=0.02) as server:
        list(running(list(about(1, 3, server)), store, limits=FAST))
        list(running(list(about(1, 9, server)), store, limits=FAST))
        assert len(server.log) == 9
        assert server.most_in_flight > 2
