"""Parameters that a server refuses: met once, renamed or left out, told, kept; a stated one stops the run."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaeval.base.errors import MetaevalError
from metaeval.llm.calls.client import CallError, failed
from metaeval.llm.calls.limits import Limits
from metaeval.llm.calls.request import Message, Request
from metaeval.llm.calls.terms import Terms, phrases
from metaeval.llm.store.replies import Store
from tests.llm.asking import KEY, running
from tests.llm.dialects import (
    anthropic,
    gemini,
    llama_cpp,
    llama_cpp_words,
    no_json,
    no_logprobs,
    pydantic,
    pydantic_words,
    reasoning,
    says_json,
    strict,
)
from tests.llm.server import ANSWER, Act, Server, error, serving

MANY = Limits(concurrency=32)
PLAIN = {"temperature": 0, "max_tokens": 200}
SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}


def asked(
    server: Server, number: int = 60, *, stated: set[str] | None = None, **more: Any
) -> Iterator[Request]:
    given = {"parameters": PLAIN, "provider": "openai", **more}
    base_url = server.dashscope if given["provider"] == "dashscope" else server.openai
    first = Request(model="m", messages=(), base_url=base_url, stated=frozenset(stated or ()), **given)
    return (first.asking([Message("user", f"How is text {i}?")]) for i in range(number))


def refusals(server: Server) -> int:
    return sum(seen.act.kind == "status" for seen in server.log)


@pytest.mark.parametrize(
    ("dialect", "more", "refused", "sent"),
    [
        (reasoning, {}, 2, ["max_tokens as max_completion_tokens", "without temperature"]),
        (anthropic, {"schema": SCHEMA}, 1, ["without temperature"]),
        (gemini, {"parameters": {**PLAIN, "seed": 0, "top_p": 1}}, 1, ["without seed", "without top_p"]),
        (llama_cpp, {"schema": SCHEMA}, 1, ["response_format of type json_object"]),
        # A JSON object is still JSON: whoever states reply='json' gets it.
        (
            llama_cpp,
            {"schema": SCHEMA, "stated": {"response_format"}},
            1,
            ["response_format of type json_object"],
        ),
        *[
            (one, {"schema": SCHEMA, "stated": stated}, 1, ["response_format of type json_object"])
            for one in (pydantic, pydantic_words, strict)
            for stated in ({"response_format"}, set[str]())
        ],
        (llama_cpp_words, {"schema": SCHEMA}, 2, ["without response_format"]),
        (says_json, {"schema": SCHEMA}, 2, ["without response_format"]),
        (no_json, {"schema": SCHEMA}, 2, ["without response_format"]),
        (no_json, {"schema": SCHEMA, "provider": "dashscope-compatible"}, 1, ["without response_format"]),
    ],
)
def test_what_a_server_refuses_is_met_once(
    store: Store, caplog: pytest.LogCaptureFixture, dialect: Any, more: Any, refused: int, sent: list[str]
) -> None:
    with caplog.at_level(logging.WARNING, "metaeval"), serving(dialect, delay=0.02) as server:
        work = running(asked(server, **more), store, limits=MANY)
        answers = list(work)
    assert [a.reply.error for a in answers] == [None] * 60
    assert refusals(server) == refused
    assert work.tally.calls == len(server.log) == 60 + refused
    assert server.most_in_flight > 8
    assert {tuple(sorted(phrases(a.reply.sent))) for a in answers} == {tuple(sent)}
    told = [r.getMessage() for r in caplog.records]
    assert len(told) == len(set(told)) == max(refused, len(sent))
    assert KEY not in caplog.text
    # The store has the replies under what was asked for, and says what was sent.
    again = list(running(asked(server, **more), store, offline=True))
    assert [a.reply.sent for a in again] == [a.reply.sent for a in answers]


def test_judges_of_one_run_share_what_was_learned(store: Store) -> None:
    shared: dict[tuple[str, str, str], Terms] = {}
    with serving(reasoning) as server:
        list(running(asked(server), store, limits=MANY, terms=shared))
        list(running(asked(server, replicate=1), store, limits=MANY, terms=shared))
        assert refusals(server) == 2
        other = Request("openai", "n", (Message("user", "?"),), PLAIN, server.openai)
        list(running([other], store, terms=shared))  # another model has terms of its own
        assert refusals(server) == 4


@pytest.mark.parametrize(
    ("dialect", "more", "stated", "wanted"),
    [
        (reasoning, {"parameters": {**PLAIN, "temperature": 0.7}}, "temperature", "write temperature: null"),
        (gemini, {"parameters": {**PLAIN, "top_p": 0.9}}, "top_p", "leave top_p out"),
        (no_logprobs, {"parameters": {**PLAIN, "logprobs": True}}, "logprobs", "leave expected out"),
        (no_json, {"schema": SCHEMA}, "response_format", "write reply='auto' or reply='text'"),
        (says_json, {"schema": SCHEMA}, "response_format", "the word 'json'.*write reply='auto'"),
    ],
)
def test_a_setting_that_is_stated_stops_the_run(
    store: Store, dialect: Any, more: Any, stated: str, wanted: str
) -> None:
    with serving(dialect, delay=0.02) as server:
        with pytest.raises(MetaevalError, match=wanted) as caught:
            list(running(asked(server, stated={stated}, **more), store, limits=MANY))
        assert caught.value.exit_code == 2
        assert stated in str(caught.value)
        # Each way of asking once: the limit's two names, the two types of JSON.
        assert len(server.log) == refusals(server) <= 2


def test_a_kept_reply_without_a_stated_setting_is_no_reply_to_it(store: Store) -> None:
    with serving(reasoning) as server:
        list(running(asked(server, 3), store))
        seen = len(server.log)
        for offline in (True, False):
            stated = asked(server, 3, stated={"temperature"})
            with pytest.raises(MetaevalError, match="leave temperature out"):
                list(running(stated, store, offline=offline))
        assert len(server.log) == seen
        assert len(list(running(asked(server, 3, stated={"max_tokens"}), store, offline=True))) == 3


def test_another_value_of_a_stated_setting_may_be_taken(store: Store) -> None:
    shared: dict[tuple[str, str, str], Terms] = {}
    one = {"parameters": {**PLAIN, "temperature": 1}}
    with serving(reasoning) as server:
        list(running(asked(server, 3), store, terms=shared))
        list(running(asked(server, 3, stated={"temperature"}, **one), store, terms=shared))
    assert [s.body.get("temperature") for s in server.log[-3:]] == [1] * 3
    assert refusals(server) == 2


@pytest.mark.parametrize(
    "act",
    [
        error(400, "context_length_exceeded", "Invalid: reduce max_tokens, which is not supported"),
        error(400, "invalid_top_k", "top_k is not supported"),  # which no server is known to refuse
        error(400, "invalid_prompt", "the prompt is not supported"),
        error(500, "server_error", "something is not supported"),
    ],
    ids=lambda act: act.body["code"],
)
def test_other_errors_change_nothing(store: Store, act: Act) -> None:
    def behave(body: dict[str, Any], _before: int) -> Act:
        return act if "text 0" in body["messages"][0]["content"] else ANSWER

    with serving(behave) as server:
        answers = list(running(asked(server, 4), store, limits=Limits(retries=1), draw=lambda: 0.01))
    assert sum(a.reply.error is not None for a in answers) == 1
    assert all(PLAIN.items() <= seen.body.items() for seen in server.log)


@pytest.mark.parametrize(
    ("said", "sent"),
    [
        ("litellm.UnsupportedParamsError: openai does not support parameters: ['seed']", ["without seed"]),
        ("Unrecognized request argument supplied: seed", ["without seed"]),
        ("property 'seed' is unsupported", ["without seed"]),
        ("Extra inputs are not permitted, field: 'seed', value: 0", ["without seed"]),
        ("Malformed input request: #: extraneous key [seed] is not permitted", ["without seed"]),
        ("invalid temperature: only 1 is allowed for this model", ["without temperature"]),
        ("`temperature` may only be set to 1 when thinking is enabled.", ["without temperature"]),
        ("This response_format type is unavailable now", ["response_format of type json_object"]),
        (
            "Json mode response is not supported when enable_thinking is true",
            ["response_format of type json_object"],
        ),
    ],
)
def test_the_words_of_servers(store: Store, said: str, sent: list[str]) -> None:
    with serving(lambda _body, _before: error(400, "400", said) if not server.log else ANSWER) as server:
        (answer,) = running(asked(server, 1, schema=SCHEMA, parameters={**PLAIN, "seed": 0}), store)
    assert phrases(answer.reply.sent) == sent


@pytest.mark.parametrize("status", [400, 422, 500, 413, 429, 502, 503])
@pytest.mark.parametrize("name", ["response_format", "json_schema", "responseFormat", "json schema"])
@given(words=st.text("xyz ,.:'\n", max_size=40))
def test_an_error_that_names_the_format_is_about_it(name: str, status: int, words: str) -> None:
    """Whatever its other words, until a request with it was answered; not of a server that is overloaded."""
    request = Request("openai", "m", (), PLAIN, "http://localhost:9/v1", schema=SCHEMA)
    terms = Terms()
    with pytest.raises(CallError) as caught:
        failed(status, "", f"{words} {name} {words}")
    assert terms.refused(request, terms.variant(request), caught.value) == (status in {400, 422, 500})
    known = Terms()
    known.answered(request)
    assert not known.refused(request, known.variant(request), caught.value)


def test_a_limit_is_renamed_once_and_never_left_out() -> None:
    """Without one no budget could be kept: a text that is too long for it is a failed call."""
    request, terms = Request("openai", "m", (), PLAIN, "http://localhost:9/v1"), Terms()
    for refused, name in ((True, "max_tokens"), (False, "max_completion_tokens")):
        with pytest.raises(CallError) as caught:
            failed(400, "BadRequestError", "too large: 200 > 100", param=name)
        variant = terms.variant(request)
        assert terms.refused(request, variant, caught.value) == refused
    assert terms.variant(request).request.parameters == {"temperature": 0, "max_completion_tokens": 200}


@pytest.mark.parametrize("name", ["temperature", "top_p", "seed", "max_tokens", "logprobs"])
@pytest.mark.parametrize("param", [True, False])
def test_what_was_answered_before_is_taken(name: str, param: bool) -> None:
    """An error that names it later quotes the prompt, or is about its length."""
    given = {**PLAIN, "top_p": 1, "seed": 0, "logprobs": True}
    request, terms = Request("openai", "m", (), given, "http://localhost:9/v1"), Terms()
    with pytest.raises(CallError) as caught:
        failed(400, "", "a bad request" if param else f"bad {name}", param=name if param else "")
    terms.answered(request)
    assert not terms.refused(request, terms.variant(request), caught.value)
    assert terms.variant(request).request is request
    assert Terms().refused(request, terms.variant(request), caught.value)


def test_who_states_json_stops_though_another_judge_does_without(store: Store) -> None:
    shared: dict[tuple[str, str, str], Terms] = {}
    with serving(no_json) as server:
        assert len(list(running(asked(server, 3, schema=SCHEMA), store, terms=shared))) == 3
        stated = asked(server, 3, schema=SCHEMA, stated={"response_format"}, replicate=1)
        with pytest.raises(MetaevalError, match="write reply='auto'"):
            list(running(stated, store, terms=shared))
        assert refusals(server) == 3


def test_an_overloaded_server_that_refuses_is_asked_one_by_one(store: Store) -> None:
    """Errors that pass come first: still no two requests are refused for the same."""
    tries: Counter[str] = Counter()

    def behave(body: dict[str, Any], before: int) -> Act:
        tries["all"] += 1
        return error(503, "ServiceUnavailable") if tries["all"] <= 2 else reasoning(body, before)

    with serving(behave, delay=0.01) as server:
        work = running(asked(server), store, limits=MANY, draw=lambda: 0.01)
        assert all(a.reply.error is None for a in work)
    assert sum(s.act.status == 400 for s in server.log) == 2
