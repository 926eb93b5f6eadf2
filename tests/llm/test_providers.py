"""The real SDKs against a server on the loopback address: what each outcome becomes."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import metaeval as me
from metaeval.base.errors import MetaevalError
from metaeval.cli import main
from metaeval.llm.calls.client import (
    CallError,
    DeniedError,
    RejectedError,
    RetryableError,
    cached_count,
    client_for,
    failed,
)
from metaeval.llm.calls.price import Prices
from metaeval.llm.calls.request import Message, Reply, Request
from metaeval.llm.providers import PROVIDERS, Connection, Provider, address_of, key_for
from tests.llm.asking import KEY, address
from tests.llm.server import (
    ANSWER,
    CUT,
    DROP,
    EMPTY,
    FILTERED,
    HANG,
    INVALID_JSON,
    LENGTH,
    PROSE,
    Act,
    Server,
    always,
    error,
    serving,
)

OPENAI = ("openai", "dashscope-compatible")
ALL = (*OPENAI, "dashscope")
SCHEMA = {
    "type": "object",
    "properties": {"a": {"type": "integer", "minimum": 2}},
    "required": ["a"],
    "additionalProperties": False,
}


def complete(server: Server, provider: str, reply_seconds: float = 10.0, **more: Any) -> Reply:
    request = Request(
        provider,
        "m",
        (Message("system", "Be brief."), Message("user", "How is it? 好看吗")),
        {"temperature": 0, "max_tokens": 5, "seed": 0, **more.pop("parameters", {})},
        **{"base_url": address(provider, server), **more},
    )

    async def go() -> Reply:
        client = client_for(Connection(provider, request.address, reply_seconds))
        try:
            return await client.complete(request)
        finally:
            await client.close()

    return asyncio.run(go())


def outcome(act: Act, provider: str) -> Reply | CallError:
    with serving(always(act)) as server:
        try:
            return complete(server, provider, 0.4 if act is HANG else 10.0)
        except CallError as failure:
            assert len(server.log) == 1  # no SDK sends anything a second time by itself
            return failure


@pytest.mark.parametrize("provider", ALL)
def test_what_is_sent_and_what_comes_back(provider: str) -> None:
    with serving() as server:
        reply = complete(server, provider, parameters={"top_k": 3})
        (seen,) = server.log
    body = seen.body["parameters"] if provider == "dashscope" else seen.body
    messages = (seen.body["input"] if provider == "dashscope" else seen.body)["messages"]
    assert messages == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "How is it? 好看吗"},
    ]
    assert seen.body["model"] == "m"
    assert {k: body[k] for k in ("temperature", "max_tokens", "seed", "top_k")} == {
        "temperature": 0,
        "max_tokens": 5,
        "seed": 0,
        "top_k": 3,
    }
    assert seen.authorization == f"Bearer {KEY}"
    assert reply.text == "Summary: 3"
    assert (reply.prompt_tokens, reply.completion_tokens, reply.finish_reason) == (100, 10, "stop")
    named = ("m-2024-08-06", "fp_1") if provider in OPENAI else (None, None)
    assert (reply.model, reply.fingerprint) == named
    assert '"Summary: 3"' in reply.raw
    assert reply.error is None


def test_a_schema_is_asked_for_where_the_provider_takes_one() -> None:
    with serving() as server:
        assert complete(server, "openai", schema=SCHEMA).text == '{"a": 2}'
        for provider in ("dashscope", "dashscope-compatible"):
            complete(server, provider, schema=SCHEMA)
        given = {"response_format": {"type": "text"}}
        complete(server, "openai", schema=SCHEMA, parameters=given)
    wanted = [s.body.get("response_format") or s.body["parameters"]["response_format"] for s in server.log]
    assert wanted[0]["json_schema"] == {"name": "reply", "strict": True, "schema": SCHEMA}
    assert wanted[1] == wanted[2] == {"type": "json_object"}
    assert wanted[3] == {"type": "text"}  # what the user says goes before


def test_the_account_is_the_one_that_the_sdks_variables_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_ORG_ID", "org-1")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "proj-1")
    with serving() as server:
        complete(server, "openai")
        headers = server.log[0].headers
    assert (headers["OpenAI-Organization"], headers["OpenAI-Project"]) == ("org-1", "proj-1")


@pytest.mark.parametrize("provider", ALL)
def test_the_proxy_that_the_environment_names(provider: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "ALL_PROXY", "all_proxy", "NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    path = "/api/v1" if provider == "dashscope" else "/v1"
    with serving() as server:
        monkeypatch.setenv("http_proxy", f"me:word@127.0.0.1:{server.port}")
        assert complete(server, provider, base_url=f"http://far.invalid{path}").text == "Summary: 3"
        (seen,) = server.log
        assert seen.headers["Host"] == "far.invalid"
        assert seen.headers["Proxy-Authorization"] == "Basic bWU6d29yZA=="
        monkeypatch.setenv("http_proxy", "http://far.invalid:1")
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        assert complete(server, provider).text == "Summary: 3"
        monkeypatch.setenv("https_proxy", f"http://me:word@127.0.0.1:{server.port}")  # it takes no CONNECT
        with pytest.raises(RetryableError, match="cannot connect: 404") as refused:
            complete(server, provider, base_url=f"https://far.invalid{path}")
        assert "word" not in str(refused.value)
        monkeypatch.setenv("http_proxy", "socks5://me:word@far.invalid:1")
        with pytest.raises(MetaevalError, match="names a proxy of 'socks5'") as caught:
            complete(server, provider, base_url=f"http://far.invalid{path}")
        assert "word" not in str(caught.value)


@pytest.mark.parametrize("provider", ALL)
@pytest.mark.parametrize(
    ("act", "code", "sent"),
    [
        (CUT, "connection", True),
        (DROP, "connection", True),
        (HANG, "timeout", True),
        (INVALID_JSON, "invalid_body", True),
        (Act("body", body="[]"), "invalid_body", True),
        (Act("body", body='{"choices": 3, "output": 3}'), "invalid_body", True),
        (error(429, "rate_limit_exceeded", "slow down", Retry_After="3"), "rate_limit_exceeded", False),
        (error(500, "InternalError"), "InternalError", False),
        (error(503, "ServiceUnavailable"), "ServiceUnavailable", False),
        (Act("status", status=502, body="<html>Bad gateway</html>"), "502", False),
    ],
    ids=lambda v: getattr(v, "kind", None),
)
def test_what_may_pass(provider: str, act: Act, code: str, sent: bool) -> None:
    failure = outcome(act, provider)
    assert isinstance(failure, RetryableError)
    if act.status != 502 or provider in OPENAI:  # the SDK of DashScope finds no error in what is no JSON
        assert failure.code == code
        assert failure.sent == sent
    if act.headers:
        assert failure.retry_after == 3
    assert KEY not in str(failure)


@pytest.mark.parametrize("provider", ALL)
def test_a_server_that_is_not_there(provider: str) -> None:
    with serving() as server:
        pass
    with pytest.raises(RetryableError, match="cannot connect") as caught:
        complete(server, provider)
    assert caught.value.code == "connect"
    assert not caught.value.sent


@pytest.mark.parametrize("provider", ALL)
@pytest.mark.parametrize(
    ("act", "kind"),
    [
        (error(401, "invalid_api_key", f"Incorrect API key provided: {KEY}."), DeniedError),
        (error(403, "AccessDenied"), DeniedError),
        (error(404, "model_not_found", "The model `m` does not exist"), DeniedError),
        (error(400, "InvalidParameter"), RejectedError),
        (error(400, "context_length_exceeded"), RejectedError),
    ],
)
def test_what_will_not_pass(provider: str, act: Act, kind: type[CallError]) -> None:
    failure = outcome(act, provider)
    assert type(failure) is kind
    assert failure.code == act.body["code"]
    assert KEY not in str(failure)


def test_an_empty_account_by_the_words_of_each() -> None:
    no_money = error(429, "insufficient_quota", "You exceeded your current quota")
    assert isinstance(outcome(no_money, "openai"), DeniedError)
    # At DashScope the same code is a limit a minute.
    assert isinstance(outcome(no_money, "dashscope-compatible"), RetryableError)
    for code, status in {
        "Arrearage": 400,
        "PrepaidBillOverdue": 429,
        "AllocationQuota.FreeTierOnly": 403,
    }.items():
        assert isinstance(outcome(error(status, code), "dashscope"), DeniedError)


DASHSCOPE_CODES = {
    RejectedError: "400 InvalidParameter, 400 BadRequest.EmptyInput, 400 InvalidURL, 413 BadRequest.TooLarge",
    DeniedError: "400 Arrearage, 401 InvalidApiKey, 403 AccessDenied.Unpurchased, 403 Model.AccessDenied, "
    "403 AllocationQuota.FreeTierOnly, 404 ModelNotFound, 429 CommodityNotPurchased, 429 PrepaidBillOverdue, "
    "429 PostpaidBillOverdue",
    RetryableError: "408 RequestTimeOut, 409 Conflict, 429 Throttling, 429 Throttling.AllocationQuota, "
    "500 InternalError.Algo, 500 SystemError, 503 ModelUnavailable",
}


@pytest.mark.parametrize("kind", DASHSCOPE_CODES)
def test_each_error_code_of_dashscope(kind: type[CallError]) -> None:
    for status, code in (each.split(" ") for each in DASHSCOPE_CODES[kind].split(", ")):
        with pytest.raises(kind, match=f"about {code}") as caught:
            failed(int(status), code, f"about {code}")
        assert caught.value.code == code


@pytest.mark.parametrize("provider", ALL)
@pytest.mark.parametrize("code", ["content_filter", "DataInspectionFailed", "data_inspection_failed"])
def test_a_filter_refuses(provider: str, code: str) -> None:
    reply = outcome(error(400, code, "Output data may contain inappropriate content."), provider)
    assert isinstance(reply, Reply)
    assert (reply.text, reply.finish_reason) == ("", "content_filter")
    assert reply.refusal == "Output data may contain inappropriate content."
    assert "inappropriate" in reply.raw
    assert reply.final


@pytest.mark.parametrize("provider", ALL)
@pytest.mark.parametrize(
    ("act", "text", "reason"),
    [
        (EMPTY, "", None),
        (LENGTH, '{"a": 3', "length"),
        (PROSE, "I quite like it, on the whole.", "stop"),
        (FILTERED, "", "content_filter"),
        (Act(text="\ud83d"), "\ufffd", "stop"),
    ],
)
def test_replies_that_a_parser_must_judge(provider: str, act: Act, text: str, reason: str | None) -> None:
    reply = outcome(act, provider)
    assert isinstance(reply, Reply)
    assert (reply.text, reply.finish_reason) == (text, reason)
    assert reply.final


def test_an_error_in_a_body_of_status_200() -> None:
    busy = Act("body", body={"error": {"code": 503, "message": "upstream busy"}})
    assert isinstance(outcome(busy, "openai"), RetryableError)
    wrong = Act("body", body={"error": {"code": 400, "message": "wrong"}})
    assert isinstance(outcome(wrong, "openai"), RejectedError)


def said(choices: Any, error: Any = None, provider: str = "openai") -> Act:
    """Return a body of status 200 with an error beside its choices."""
    body: dict[str, Any] = {"choices": choices, "error": error, "usage": {"prompt_tokens": 9}}
    if provider == "dashscope":
        body = {"output": {"choices": choices}, "error": error, "usage": {"input_tokens": 9}}
    return Act("body", body=body)


def ended(reason: str, text: str | None = "Summary: 3", **more: Any) -> list[dict[str, Any]]:
    return [{"index": 0, "finish_reason": reason, "message": {"role": "assistant", "content": text}, **more}]


BUSY = {"message": "Too Many Requests", "code": 429, "metadata": {"provider_name": "X"}}


@pytest.mark.parametrize("provider", ALL)
@pytest.mark.parametrize(
    ("choices", "error", "code"),
    [
        (None, BUSY, "429"),
        ([], BUSY, "429"),
        ([], "Model is overloaded", "500"),
        (None, {"message": "slow down", "code": "rate_limit_exceeded"}, "rate_limit_exceeded"),
        (ended("stop", None), {"code": "502", "message": "Upstream error"}, "502"),
        (ended("error", "", error={"code": 502, "message": "Upstream error"}), None, "502"),
        (ended("error", "Summary: 3, bec"), None, "500"),  # half of an answer is none
        (ended("abort", "Summary: 3, bec"), None, "500"),
        (ended("stop", "Summary: 3, bec"), {"code": 503, "message": "Upstream error"}, "503"),
    ],
)
def test_an_error_beside_the_choices_is_a_failed_call(
    provider: str, choices: Any, error: Any, code: str
) -> None:
    failure = outcome(said(choices, error, provider), provider)
    assert isinstance(failure, RetryableError)
    assert (failure.code, failure.sent) == (code, False)


@pytest.mark.parametrize("provider", ALL)
@pytest.mark.parametrize("error", [None, "", {}, {"message": "", "type": "", "code": None}])
def test_an_error_without_content_is_none(provider: str, error: Any) -> None:
    reply = outcome(said(ended("stop"), error, provider), provider)
    assert isinstance(reply, Reply)
    assert reply.text == "Summary: 3"


def test_dashscope_says_with_status_200_what_failed() -> None:
    for output in (None, {}, {"choices": []}, {"choices": None, "text": None}):
        body = {"code": "InternalError", "message": "Algo process error.", "output": output}
        failure = outcome(Act("body", body=body), "dashscope")
        assert isinstance(failure, RetryableError), output
        assert (str(failure), failure.code) == ("Algo process error.", "InternalError")
    body = {"code": "Success", "output": {"choices": ended("stop")}}
    assert isinstance(outcome(Act("body", body=body), "dashscope"), Reply)


CACHED = ("cached_tokens", "prompt_cache_hit_tokens", "prompt_tokens_details")
"""Names of Moonshot, of DeepSeek and of OpenAI."""


@given(st.dictionaries(st.sampled_from(CACHED), st.none() | st.integers(0, 2000)))
def test_cached_tokens_under_the_name_that_a_server_has_for_them(named: dict[str, int | None]) -> None:
    nested = {"cached_tokens": named["prompt_tokens_details"]} if named.get("prompt_tokens_details") else None
    usage = {**named, **({"prompt_tokens_details": nested} if "prompt_tokens_details" in named else {})}
    assert (cached_count(usage) or 0) == max([n or 0 for n in named.values()], default=0)


@pytest.mark.parametrize("provider", ALL)
@pytest.mark.parametrize("name", CACHED[:2])
def test_cached_tokens_are_charged_as_such(provider: str, name: str) -> None:
    prompt, completion = ("input", "output") if provider == "dashscope" else ("prompt", "completion")
    usage = {f"{prompt}_tokens": 1000, f"{completion}_tokens": 100, name: 900}
    body = {"choices": ended("stop"), "output": {"choices": ended("stop")}, "usage": usage}
    reply = outcome(Act("body", body=body), provider)
    assert isinstance(reply, Reply)
    prices = Prices({"m": {"input": 1, "cached": 0.1, "output": 10}})
    assert prices.cost(Request(provider, "m", ()), reply) == pytest.approx(1190e-6)


def test_older_models_of_dashscope_answer_in_text() -> None:
    body = {"output": {"text": "4", "finish_reason": "null"}, "usage": None, "request_id": "r"}
    reply = outcome(Act("body", body=body), "dashscope")
    assert isinstance(reply, Reply)
    assert (reply.text, reply.finish_reason, reply.prompt_tokens) == ("4", None, None)


def test_addresses_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, provider in PROVIDERS.items():
        if provider.address:
            assert address_of(name) == provider.address
        if provider.address_variable:
            monkeypatch.setenv(provider.address_variable, "http://localhost:1/v1/")
            assert address_of(name) == "http://localhost:1/v1"
            assert address_of(name, "http://localhost:2") == f"http://localhost:2{provider.path}"


SPEAKING_OPENAI = [n for n, p in PROVIDERS.items() if p.client == PROVIDERS["openai"].client]


def test_one_line_in_the_table_is_a_provider(
    tiny: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MYLAB_API_KEY", KEY)
    with serving() as server:
        place = address("openai", server)
        line = Provider(PROVIDERS["openai"].client, place, key_variable="MYLAB_API_KEY")
        monkeypatch.setitem(PROVIDERS, "mylab", line)
        me.score(me.load(tiny), ["Judge('mylab/large')"])
        assert {one.authorization for one in server.log} == {f"Bearer {KEY}"}
    assert main(["providers"]) == 0
    [told] = [one for one in capsys.readouterr().out.splitlines() if one.startswith("mylab ")]
    assert told.split()[1:] == [place, "MYLAB_API_KEY", "(set)"]


@pytest.mark.parametrize("provider", SPEAKING_OPENAI)
def test_each_provider_is_sent_its_own_key(provider: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for other in PROVIDERS.values():
        if other.key_variable:
            monkeypatch.setenv(other.key_variable, f"{other.key_variable}-{KEY}")
    variable = PROVIDERS[provider].key_variable
    with serving() as server:
        assert complete(server, provider).text == "Summary: 3"
        assert server.log[0].authorization == f"Bearer {variable}-{KEY}"
        assert server.log[0].path == "/v1/chat/completions"


def test_the_providers_own_address_needs_a_key_unless_it_is_this_computer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", "https://mine.openai.azure.com/")
    for name, provider in PROVIDERS.items():
        if not provider.remote:
            continue
        monkeypatch.delenv(provider.key_variable, raising=False)
        if provider.address.startswith("http://localhost:"):
            assert key_for(name, address_of(name)) == ""
        else:
            with pytest.raises(MetaevalError, match=f"{provider.key_variable} is not set"):
                key_for(name, address_of(name))


def test_azure_has_an_address_of_ones_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AZURE_OPENAI_ENDPOINT", raising=False)
    with pytest.raises(MetaevalError, match="set AZURE_OPENAI_ENDPOINT, or give base_url"):
        address_of("azure")
    for written in ("https://Mine.openai.azure.com/", "https://mine.openai.azure.com/openai/v1/"):
        monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", written)
        assert address_of("azure") == "https://mine.openai.azure.com/openai/v1"
    assert address_of("azure", "https://gateway.example/a") == "https://gateway.example/a"


def test_the_key_is_not_in_what_is_logged(
    caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    bad_key = error(401, "InvalidApiKey", f"Incorrect API key provided: {KEY}")
    for provider in ALL:
        for act in (bad_key, CUT, ANSWER):
            outcome(act, provider)
    printed = capsys.readouterr()
    client = client_for(Connection("dashscope", address_of("dashscope")))
    logging.getLogger("dashscope").error("Request: %s failed, message: %s", "u", f"bad key {KEY}")
    asyncio.run(client.close())
    assert "bad key [key]" in caplog.text
    assert KEY not in caplog.text + printed.out + printed.err


@pytest.mark.parametrize("provider", ALL)
def test_the_key_goes_before_what_netrc_says(
    provider: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login me password word\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))
    with serving() as server:
        assert complete(server, provider).text == "Summary: 3"
        assert server.log[0].authorization == f"Bearer {KEY}"
