"""Servers of raw completions, on the loopback address: what they are sent, and what comes back."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

from metaeval.llm.calls.client import client_for
from metaeval.llm.calls.request import Message, Reply, Request
from metaeval.llm.providers import Connection
from metaeval.llm.providers.answers import places_in
from tests.llm.server import Act, Server, always, serving

if TYPE_CHECKING:
    import pytest

KEY = "sk-raw-4711"
TOLD = (Message("system", "[INST] Judge.\n\n"), Message("user", "Film 1 or Film 2? [/INST]"))


def complete(server: Server, **parameters: Any) -> Reply:
    request = Request("completions", "m", TOLD, {"max_tokens": 5, **parameters}, server.openai)

    async def go() -> Reply:
        client = client_for(Connection("completions", request.address, 5.0, 5.0))
        try:
            return await client.complete(request)
        finally:
            await client.close()

    return asyncio.run(go())


def test_the_text_is_sent_as_it_is_and_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMPLETIONS_API_KEY", KEY)
    with serving(always(Act(text=" A"))) as server:
        reply = complete(server, stop=["</s>"])
        (seen,) = server.log
    assert seen.path == "/v1/completions"
    prompt = "[INST] Judge.\n\nFilm 1 or Film 2? [/INST]"
    assert seen.body == {"model": "m", "max_tokens": 5, "stop": ["</s>"], "prompt": prompt}
    assert seen.authorization == f"Bearer {KEY}"
    assert (reply.text, reply.finish_reason, reply.model) == (" A", "stop", "m-2024-08-06")
    assert (reply.prompt_tokens, reply.completion_tokens) == (100, 10)


def test_probabilities_are_kept_as_those_of_a_chat() -> None:
    listed = {
        "tokens": ["It is ", "4"],
        "token_logprobs": [-0.1, -0.5],
        "top_logprobs": [None, {"4": -0.5, "3": -1.0}],
    }
    with serving(always(Act(text="It is 4", logprobs=listed))) as server:
        reply = complete(server, logprobs=True, top_logprobs=5)
        assert server.log[0].body["logprobs"] == 5
        assert "top_logprobs" not in server.log[0].body
    (place,) = places_in(reply.raw) or ()
    assert (place.at, place.token, dict(place.top)) == (6, "4", {"4": -0.5, "3": -1.0})
    assert "tokens" not in json.loads(reply.raw)["choices"][0]["logprobs"]
