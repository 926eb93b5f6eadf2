from __future__ import annotations

import genai_prices
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaeval.base.errors import MetaevalError
from metaeval.llm.calls.price import (
    Prices,
    cacheable,
    context_of,
    prompt_at_most,
    reply_limit,
    tokens_about,
    tokens_of,
)
from metaeval.llm.calls.request import CallFailure, Message, Reply, Request

REPLY = Reply(text="x", prompt_tokens=1_000_000, completion_tokens=100_000)


def request(model: str = "gpt-4o", provider: str = "openai", **more: object) -> Request:
    return Request(provider, model, (Message("user", "How is it? 好看吗"),), {"max_tokens": 100}, **more)


def test_prices_come_from_the_library_and_are_the_same_twice() -> None:
    prices = Prices()
    once = prices.cost(request(), REPLY)
    assert once is not None
    assert once > 0
    assert prices.cost(request(), REPLY) == pytest.approx(once)
    cached = prices.cost(request(), REPLY._replace(cached_tokens=500_000))
    assert cached is not None
    assert cached < once
    assert Prices().cost(request(), REPLY._replace(cached_tokens=500_000)) == pytest.approx(cached)


def test_a_resolved_name_helps() -> None:
    named = REPLY._replace(model="gpt-4o-2024-08-06")
    known = Prices().cost(request("gpt-4o-2024-08-06"), REPLY)
    assert known is not None
    assert Prices().cost(request("my-deployment"), REPLY) is None
    assert Prices().cost(request("my-deployment"), named) == pytest.approx(known)


@pytest.mark.parametrize(
    "unknown",
    [
        request("no-such-model"),
        request(base_url="http://localhost:8000/v1"),
        request("qwen-plus", "dashscope"),
    ],
)
def test_an_unknown_price_is_none_and_not_nothing(unknown: Request) -> None:
    prices = Prices()
    assert prices.cost(unknown, REPLY) is None
    assert prices.at_most(unknown) is None
    assert not prices.known(unknown)


def test_given_prices_go_first() -> None:
    price = {"input": 1, "output": 2, "cached": 0.5}
    for name in ("gpt-4o", "openai/gpt-4o"):
        prices = Prices({name: price})
        assert prices.cost(request(), REPLY) == pytest.approx(1.2)
        assert prices.cost(request(), REPLY._replace(cached_tokens=1_000_000)) == pytest.approx(0.7)
    assert Prices({"dashscope/gpt-4o": price}).cost(request(base_url="http://localhost/v1"), REPLY) is None


def test_simulated_models_and_errors_cost_nothing() -> None:
    assert Prices().cost(request("x", "simulated"), REPLY) == 0
    assert Prices().at_most(request("x", "simulated")) == 0
    lost = Reply(error=CallFailure("transport", "lost"))
    assert Prices().cost(request("no-such-model"), lost) == 0
    assert Prices().cost(request(), Reply(text="no usage said")) is None


@pytest.mark.parametrize(
    ("price", "message"),
    [
        ({"input": 1, "ouput": 2}, "did you mean 'output'"),
        ({"input": 1}, "output is None"),
        ({"input": -1, "output": 2}, "input is -1"),
        ({"input": "1", "output": 2}, "input is '1'"),
    ],
)
def test_wrong_prices(price: dict[str, object], message: str) -> None:
    with pytest.raises(MetaevalError, match=message):
        Prices({"m": price})


def test_what_a_cache_of_prompts_may_hold() -> None:
    """All messages but the last, of a request that shares them, if they are long."""
    profile = "I like films about cooking. " * 300
    told = [("system", "Rate."), ("user", profile), ("user", "Film 3")]
    shares = request().asking(told, shares=True)
    assert 0.95 < cacheable(shares) / tokens_about(shares) < 1
    assert cacheable(request().asking(told)) == 0
    assert cacheable(request().asking([("user", "Rate."), ("user", "Film 3")], shares=True)) == 0
    prices = Prices({"gpt-4o": {"input": 1, "output": 2, "cached": 0.5}})
    whole, half = prices.about(shares, 0), prices.about(shares, 0, tokens_about(shares))
    assert whole is not None
    assert half == pytest.approx(whole / 2)


@given(st.lists(st.text(), max_size=4))
def test_tokens_of_messages_are_those_of_one_text(texts: list[str]) -> None:
    assert tokens_of(texts) == tokens_of(["".join(texts)])


def test_bounds_on_tokens() -> None:
    asked = request()
    assert prompt_at_most(asked) > len(asked.messages[0].content.encode())
    assert reply_limit(asked) == 100
    assert tokens_about(asked) < prompt_at_most(asked)
    assert reply_limit(Request("openai", "m", asked.messages)) is None
    # A schema is sent too, and counts; so do tools, and whatever else is a text.
    assert prompt_at_most(request(schema={"type": "object"})) > prompt_at_most(asked)
    for more in ({"tools": [{"name": "x" * 200_000}]}, {"suffix": "x" * 200_000}):
        longer = Request("openai", "m", asked.messages, {"max_tokens": 100, **more})
        assert prompt_at_most(longer) > 200_000
        assert tokens_about(longer) > 50_000
    # Either limit may be the one that the server keeps.
    both = {"max_tokens": 9, "max_completion_tokens": 8}
    assert reply_limit(Request("openai", "m", asked.messages, both)) == 9


def test_a_price_is_that_of_its_first_use_and_is_kept() -> None:
    """A model whose price changes by the hour has one price in a run, and the record says which."""
    asked = request("deepseek-v4-flash", "deepseek")
    prices = Prices()
    longest = REPLY._replace(prompt_tokens=prompt_at_most(asked), completion_tokens=100)
    assert prices.at_most(asked) == prices.cost(asked, longest)
    assert prices.cost(asked, REPLY) == prices.cost(asked, REPLY) != 0
    (price,) = prices.used["deepseek/deepseek-v4-flash"]
    assert price.startswith("{'input': ")


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:8000", "10.0.0.1", "[::1]:8000", "[fe80::1]"])
def test_the_library_knows_no_provider_by_a_number(host: str) -> None:
    """So it need not be loaded for a server of one's own, which takes a third of a second."""
    address = f"http://{host}/v1"
    with pytest.raises(LookupError):
        genai_prices.calc_price(genai_prices.Usage(), "gpt-4o", provider_api_url=address)
    assert not Prices().known(request(base_url=address))
    assert context_of("gpt-4o", address) is None
    assert Prices().known(request())
    assert context_of("gpt-4o", request().address)
