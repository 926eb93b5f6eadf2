from __future__ import annotations

import contextlib
import json
import random
import sqlite3
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaeval.base.errors import MetaevalError
from metaeval.llm.calls.request import Message, Reply, Request, well_formed
from metaeval.llm.store import tools as store_tools
from metaeval.llm.store.texts import TEXTS, keep, pieces, request_in

if TYPE_CHECKING:
    from metaeval.llm.store.replies import Store


def words(number: int, seed: int = 0) -> str:
    draw = random.Random(seed)  # noqa: S311 - words
    return " ".join("".join(draw.choices("aehilnorstu", k=6)) for _ in range(number))


def shown(store: Store, request: Request) -> tuple[Message, ...]:
    return store_tools.conversations(store, [request.key])[request.key].messages


@given(
    st.binary(max_size=3000)
    | st.builds(lambda part, n: part * n, st.binary(max_size=20), st.integers(0, 200))
)
def test_pieces_are_the_text(text: bytes) -> None:
    assert b"".join(pieces(text)) == text
    assert all(pieces(text))


@given(before=st.text(max_size=400), after=st.text(max_size=400))
def test_what_two_texts_share_is_cut_alike(before: str, after: str) -> None:
    shared = words(3000)
    cut = set(pieces(shared.encode()))
    within = list(pieces(f"{before}{shared}{after}".encode()))
    new = sum(len(piece) for piece in within if piece not in cut)
    assert new < len(f"{before}{after}".encode()) + 10_000


@pytest.mark.parametrize("profile", [words(50_000), "I like films about cooking. " * 12_000])
def test_a_long_profile_is_kept_once(store: Store, profile: str) -> None:
    asked = [
        Request(
            "openai", "m", (Message("user", f"Item {words(9, i)}\n{profile}\nRate: {words(60, -i - 1)}"),)
        )
        for i in range(100)
    ]
    for request in asked:
        store.put(request, Reply("4"))
    assert [shown(store, request) for request in asked] == [request.messages for request in asked]
    ((kept,),) = store.rows(
        "SELECT sum(length(text)) + (SELECT sum(length(request)) FROM replies) FROM texts"
    )
    assert kept < 2 * len(profile)


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
    assert longest < 100
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
        connection.execute(TEXTS)
        assert request_in(connection, keep(connection, request), request.key) == json.loads(request.canonical)


def test_prune_takes_the_texts_that_nobody_uses(store: Store) -> None:
    one, other = (
        Request("openai", model, (Message("user", f"{words(200)} {words(100, i)}"),))
        for i, model in enumerate("ab")
    )
    store.put(one, Reply("1"))
    alone = store.rows("SELECT count(*) FROM texts")
    store.put(other, Reply("2"))
    assert store.rows("SELECT count(*) FROM texts") > alone
    assert store_tools.prune(store, model="openai/b") == 1
    assert store.rows("SELECT count(*) FROM texts") == alone
    assert shown(store, one) == one.messages
    assert store_tools.prune(store, everything=True) == 1
    assert store.rows("SELECT count(*) FROM texts") == [(0,)]


def test_a_text_that_was_changed_on_the_disk_is_not_shown_and_is_replaced(store: Store) -> None:
    asked = [Request("openai", model, (Message("user", words(30)),)) for model in "ab"]
    store.put(asked[0], Reply("1"))
    ((text,),) = store.rows("SELECT text FROM texts WHERE id = 2")
    changed = text.replace(b"a", b"e")
    store.write(lambda c: c.execute("UPDATE texts SET text = ? WHERE id = 2", (changed,)))
    with pytest.raises(MetaevalError, match="is damaged"):
        shown(store, asked[0])
    store.put(asked[1], Reply("2"))
    assert shown(store, asked[1]) == asked[1].messages
    assert "1 replies" in store_tools.problems(store)[0]
    assert store_tools.prune(store, damaged=True) == 1
    assert store_tools.problems(store) == []
