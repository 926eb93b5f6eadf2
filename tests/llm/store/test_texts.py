from __future__ import annotations

import contextlib
import json
import random
import sqlite3
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaeval.base.errors import MetaevalError
from metaeval.llm.calls.request import Message, Reply, Request, canonical, well_formed
from metaeval.llm.store import tools as store_tools
from metaeval.llm.store.replies import Store
from metaeval.llm.store.rows import SCHEMA, keep, request_in


def words(number: int, seed: int = 0) -> str:
    draw = random.Random(seed)  # noqa: S311 - words
    return " ".join("".join(draw.choices("aehilnorstu", k=6)) for _ in range(number))


def shown(store: Store, request: Request) -> tuple[Message, ...]:
    return store_tools.conversations(store, [request.key])[request.key].messages


@pytest.mark.slow
def test_what_repeats_is_kept_once_and_compressed(store: Store) -> None:
    profile = words(50_000)
    asked = [
        Request("openai", "m", (Message("user", profile), Message("user", f"Rate: {words(60, i)}")))
        for i in range(100)
    ]
    for request in asked:
        store.put(request, Reply("4"))
    assert [shown(store, request) for request in asked] == [request.messages for request in asked]
    ((kept,),) = store.rows(
        "SELECT sum(length(text)) + (SELECT sum(length(request)) FROM replies) FROM texts"
    )
    assert kept < 0.75 * len(profile)


def test_a_row_of_a_long_profile_is_short_and_pruning_keeps_what_others_share(store: Store) -> None:
    profiles = [words(20_000, seed) for seed in (1, 2)]
    asked = [
        Request("openai", model, (Message("user", profile), Message("user", f"Item {i}")))
        for model in "ab"
        for profile in profiles
        for i in range(3)
    ]
    for request in asked:
        store.put(request, Reply("4"))
    ((longest,),) = store.rows("SELECT max(length(request)) FROM replies")
    assert longest < 200
    before = store.rows("SELECT count(*) FROM texts")
    assert store_tools.prune(store, model="openai/a") == 6
    assert store.rows("SELECT count(*) - ? + 1 FROM texts", before[0]) == [(0,)]  # but for the settings of a
    assert [shown(store, request) for request in asked[6:]] == [request.messages for request in asked[6:]]
    store_tools.prune(store, everything=True)
    assert store.rows("SELECT count(*) FROM texts") == [(0,)]


@given(roles=st.lists(st.tuples(st.sampled_from(["system", "user", "7", ""]), st.text()), max_size=5))
def test_any_conversation_is_put_together_again(roles: list[tuple[str, str]]) -> None:
    request = Request(
        "openai", "m", tuple(Message(r, well_formed(t)) for r, t in roles), {"x": [1, None, 0.5]}
    )
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(SCHEMA[1])
        assert request_in(connection, keep(connection, request.fields), request.key) == json.loads(
            canonical(request.fields)
        )


def test_a_text_that_was_changed_on_the_disk_is_not_shown_and_is_replaced(store: Store) -> None:
    asked = [Request("openai", model, (Message("user", words(30)),)) for model in "ab"]
    store.put(asked[0], Reply("1"))
    for changed in (zlib.compress(words(30, 1).encode()), b"no text"):
        store.write(lambda c, changed=changed: c.execute("UPDATE texts SET text = ?", (changed,)))
        with pytest.raises(MetaevalError, match="is damaged"):
            shown(store, asked[0])
        assert "1 replies" in store_tools.problems(store)[0]
    store.put(asked[1], Reply("2"))
    assert shown(store, asked[1]) == asked[1].messages
    assert store_tools.prune(store, damaged=True) == 1  # its settings are another text
    assert store_tools.problems(store) == []
