from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaeval.base.errors import MetaevalError
from metaeval.llm.calls.request import Message, Request, canonical, key_of, well_formed
from metaeval.llm.providers import address_of, key_for
from tests.llm.asking import KEY


def request(**changes: object) -> Request:
    fields = {"provider": "openai", "model": "m", "messages": (Message("user", "hi"),), **changes}
    return Request(**fields)


BASE = request().key


@pytest.mark.parametrize(
    "change",
    [
        {"provider": "dashscope-compatible"},
        {"model": "n"},
        {"messages": (Message("user", "ho"),)},
        {"messages": (Message("system", "hi"),)},
        {"messages": (Message("user", "hi"), Message("user", ""))},
        {"parameters": {"temperature": 0}},
        {"base_url": "http://localhost:1/v1"},
        {"schema": {"type": "object"}},
        {"replicate": 1},
        {"attempt": 1},
    ],
)
def test_everything_that_matters_is_in_the_key(change: dict[str, object]) -> None:
    assert request(**change).key != BASE


def test_the_key_is_the_same_for_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    a = request(parameters={"temperature": 0.0, "stop": ("x",), "seed": 0})
    assert a.key == request(parameters={"seed": 0, "stop": ["x"], "temperature": 0}).key
    assert len(a.key) == 64
    # The address counts as resolved, however it was given.
    assert request(base_url="HTTPS://API.openai.com/v1/").key == BASE
    monkeypatch.setenv("OPENAI_BASE_URL", "http://localhost:1/v1")
    assert request().key == request(base_url="http://localhost:1/v1").key != BASE


def test_the_api_key_is_not_part_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "another")
    assert request().key == BASE
    assert KEY not in canonical(request().fields)


@given(st.lists(st.tuples(st.sampled_from(["user", "system"]), st.text()), max_size=3), st.integers(0, 3))
def test_short_cuts_give_what_the_long_way_gives(messages: list[tuple[str, str]], attempt: int) -> None:
    first = request(parameters={"temperature": 1.5}, schema={"type": "object"})
    quick = first.asking(messages).again(attempt)
    slow = request(
        parameters={"temperature": 1.5}, schema={"type": "object"}, messages=tuple(messages), attempt=attempt
    )
    assert quick == slow
    assert quick.key == slow.key == key_of(json.loads(canonical(slow.fields)))


@given(st.text(st.characters()))
def test_text_can_always_be_encoded(text: str) -> None:
    assert well_formed(text).encode().decode() == well_formed(text)


def test_half_a_surrogate_pair_is_replaced() -> None:
    assert well_formed("a\ud83d b") == "a\ufffd b"
    assert well_formed("\ud83d\ude00") == "\U0001f600"
    assert "\ufffd" in request(messages=(Message("user", "\ud800"),)).messages[0].content


@pytest.mark.parametrize("name", ["stream", "n", "api_key", "messages", "Authorization"])
def test_some_parameters_are_refused(name: str) -> None:
    with pytest.raises(MetaevalError, match="cannot be a parameter"):
        request(parameters={name: 1})


def test_a_parameter_must_be_json() -> None:
    with pytest.raises(MetaevalError, match="not a JSON value"):
        _ = request(parameters={"x": float("nan")}).key


@pytest.mark.parametrize(
    ("base_url", "message"),
    [
        ("localhost:8000", "is not an address"),
        ("ftp://x/y", "is not an address"),
        ("http://host:99999/v1", "is not an address"),
        ("http://host:port/v1", "is not an address"),
        ("http://[::1/v1", "is not an address"),
        ("http://user:secret@host/v1", "leave them out"),
        ("http://host/v1?api_key=secret", "leave them out"),
        ("http://host/sk-secret4711/v1", "looks like a key in its path"),
        (f"http://host/v1/{KEY}", "looks like a key in its path"),
        ("http://host/proxy/gsk_secretAbC0123456789xyz/v1", "looks like a key in its path"),
    ],
)
def test_wrong_addresses(base_url: str, message: str) -> None:
    with pytest.raises(MetaevalError, match=message) as caught:
        request(base_url=base_url)
    assert "secret" not in str(caught.value)
    assert KEY not in str(caught.value)


def test_paths_of_deployments_and_accounts_are_no_keys() -> None:
    for path in (
        "/client/v4/accounts/0123456789abcdef0123456789abcdef/ai/v1",
        "/openai/gpt-4o-2024-08-06-Eastus2/v1",
    ):
        assert address_of("openai", f"http://host{path}") == f"http://host{path}"


def test_wrong_providers() -> None:
    with pytest.raises(MetaevalError, match="did you mean 'openai'"):
        request(provider="opnai")
    with pytest.raises(MetaevalError, match="has no address"):
        address_of("simulated", "http://localhost")


def test_keys_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    assert key_for("openai", address_of("openai")) == KEY
    monkeypatch.delenv("OPENAI_API_KEY")
    assert key_for("openai", "http://localhost:8000/v1") == ""  # a server of one's own may want none
    with pytest.raises(MetaevalError, match="OPENAI_API_KEY is not set"):
        key_for("openai", address_of("openai"))
