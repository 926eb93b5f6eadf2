"""The expectation of a rating, against models whose distribution is known."""

from __future__ import annotations

import json
from math import log
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaeval.base.records import Scale
from metaeval.judging.expectation import expectation
from metaeval.llm.providers.answers import keep_numbers, places_in
from metaeval.llm.replies.fields import Number
from metaeval.llm.replies.reader import read_reply

FIVE, TEN, HALVES = Scale(1, 5), Scale(0, 10), Scale(1, 5, integer=False)
Token = str | dict[str, float]
"""A token that was certain; or the one that was written, first, and what might have stood there."""


def entry(token: Token) -> dict[str, Any]:
    shares = {token: 1.0} if isinstance(token, str) else token
    listed = [{"token": t, "logprob": log(p), "bytes": list(t.encode())} for t, p in shares.items()]
    return {**listed[0], "top_logprobs": listed}


def kept(text: str, content: object) -> str:
    """Return the body that is kept of a reply."""
    choice: dict[str, Any] = {"message": {"content": text}, "logprobs": {"content": content}}
    keep_numbers(choice, text)
    return json.dumps({"choices": [choice]})


def expected(*tokens: Token, scale: Scale = FIVE, text: str | None = None) -> float | str:
    written = "".join(next(iter(token)) if isinstance(token, dict) else token for token in tokens)
    text = written if text is None else text

    def read(reply: str) -> object:
        return (read_reply(reply, [Number("clarity", scale)]).values or {}).get("clarity")

    value = read(text)
    assert isinstance(value, float | int)
    raw = kept(text, [entry(token) for token in tokens])
    found = expectation(text, float(value), scale, places_in(raw), read)
    if isinstance(found, str):
        return found
    assert 0 <= found.confidence <= 1
    return found.value


def shares(numbers: list[float], total: float = 1.0) -> list[float]:
    return [total * number / sum(numbers) for number in numbers]


SOME = st.lists(st.floats(0.01, 1), min_size=11, max_size=11)


@given(SOME, st.integers(0, 10), st.floats(0, 0.49), st.sampled_from(["", " ", ' "', " **"]))
def test_it_is_the_mean_over_the_values_of_the_scale(
    weights: list[float], written: int, elsewhere: float, before: str
) -> None:
    """Each number is a token, as in OpenAI's models; the rest of the probability is on other words."""
    of_value = shares(weights, 1 - elsewhere)
    token = {f"{before}{v}": of_value[v] for v in (written, *range(11))}
    if elsewhere:
        token[" The"] = elsewhere
    after = before.strip()
    found = expected("clarity:" if before else "clarity: ", token, f"{after}\n", scale=TEN)
    assert found == pytest.approx(sum(v * p for v, p in enumerate(shares(weights))), abs=1e-3)


@given(SOME, st.integers(0, 10))
def test_digit_by_digit_it_is_right_or_not_told(weights: list[float], written: int) -> None:
    """Each digit is a token, as in Qwen's and Llama's models, so 1 may go on to be 10."""
    of_value = shares(weights)
    ten, one = of_value[10], of_value[1] + of_value[10]
    first = {str(v): of_value[v] for v in range(10)} | {"1": one}
    begun = str(written)[0]
    after = {"\n": of_value[1] / one, "0": ten / one} if begun == "1" else {"\n": 1.0}
    if written == 10:
        after = {"0": after["0"], "\n": after["\n"]}
    tokens: list[Token] = ["clarity", ": ", {begun: first[begun], **first}, after]
    found = expected(*tokens, *(["\n"] if written == 10 else []), scale=TEN)
    truth = sum(v * p for v, p in enumerate(of_value))
    if begun == "1":
        assert found == pytest.approx(truth, abs=1e-3)
    elif isinstance(found, str):
        assert one > 0.0999
        assert "the server lists" in found or "of the scale have" in found
    else:
        without = sum(v * p for v, p in enumerate(of_value) if v not in (1, 10)) / (1 - one)
        assert one < 0.1001
        assert found == pytest.approx(without, abs=1e-3)


@pytest.mark.parametrize(
    ("tokens", "scale", "wanted"),
    [
        # With and without the blank it is the same number.
        (["clarity:", {" 4": 0.5, "4": 0.25, " 2": 0.25}], FIVE, 3.5),
        (['{"clarity":', {" 4": 0.5, " 5": 0.5}, "}"], FIVE, 4.5),
        (['{"clarity": "', {'4"': 0.5, '5"': 0.5}, "}"], FIVE, 4.5),
        (["clarity: ", {"4/": 0.5, "2/": 0.5}, "5"], FIVE, 3),
        (["clarity: ", {"4": 0.5, "2": 0.5}, "/", "5"], FIVE, 3),
        # Alternatives off the scale, and decimals where whole numbers are asked for, are no values.
        (["clarity: ", {"4": 0.4, "2": 0.4, "9": 0.1, "four": 0.1}], FIVE, 3),
        (["clarity: ", {"4": 0.5, "2": 0.5}, {"\n": 0.5, ".5": 0.5}], FIVE, pytest.approx(8 / 3)),
        # A number of several tokens: each is followed.
        (
            ["clarity: ", {"4": 0.95, "5": 0.05}, ".", {"5": 0.5, "0": 0.5}, "\n"],
            HALVES,
            pytest.approx(4.286, abs=0.01),
        ),
        (["clarity: ", {"4.5": 0.5, "3.5": 0.5}, "\n"], HALVES, 4),
        (["clarity: ", {"4": 0.5, "3": 0.5}, "\n"], HALVES, 3.5),
        # The thought before the answer has tokens and no part in the text; a special token comes at the end.
        (["I say 5.", "\n\n", "clarity: ", {"4": 0.5, "3": 0.5}, "<|end|>"], FIVE, 3.5),
        # A number that is no value: the one that carries the value is exchanged, the other is not.
        (["It has ", {"4": 0.5, "3": 0.5}, " reasons.\n", "clarity: ", {"4": 0.9, "5": 0.1}], FIVE, 4.1),
        (["清楚。\n", "clarity: ", {"4": 0.9, "5": 0.1}], FIVE, 4.1),
        (
            ["<think>", *["It may be a ", "4", ".\n"] * 50, "</think>\n", "clarity: ", {"4": 0.9, "5": 0.1}],
            FIVE,
            4.1,
        ),
        # What was written need not be the likeliest.
        (["clarity: ", {"2": 0.1, "4": 0.9}], FIVE, 3.8),
    ],
)
def test_how_numbers_are_written(tokens: list[Token], scale: Scale, wanted: Any) -> None:
    text = "clarity: 4" if tokens[0] == "I say 5." else None
    assert expected(*tokens, scale=scale, text=text) == (
        pytest.approx(wanted) if isinstance(wanted, float | int) else wanted
    )


@pytest.mark.parametrize(
    ("tokens", "scale", "why"),
    [
        (["clarity: ", {"4": 0.3, "The": 0.7}], FIVE, "have 30% of the probability"),
        (["clarity: ", {"4": 0.6}], FIVE, "lists 60%"),
        (["clarity: ", {"4": 0.6, "3": 0.2}], FIVE, "lists 80%"),
        (["clarity: ", {"4": 0.9, "3": 0.9}], FIVE, "lists 180%"),
        (["clarity: ", "four"], FIVE, "no numbers"),
        (["clarity: ", {"4": 0.5, "3": 0.5}, ".", "5", "\n"], HALVES, "lists 50%"),
        (["clarity: ", "4"], Scale(-5, 5), "below 0"),
        (["clarity:", ": 4"], FIVE, "no probabilities"),
    ],
)
def test_no_expectation_without_the_probabilities(tokens: list[Token], scale: Scale, why: str) -> None:
    text = "clarity: 4" if tokens[-1] == ": 4" else None
    found = expected(*tokens, scale=scale, text=text)
    assert isinstance(found, str)
    assert why in found


def test_little_is_kept() -> None:
    """Twenty alternatives to each of 400 tokens come to less than 1 kB."""
    prose = {"word ": 0.9, **{f"other{i}": 0.005 for i in range(19)}}
    rating = {"4": 0.5, "3": 0.3, **{f"word{i}": 0.01 for i in range(20)}}
    content = [entry(prose) for _ in range(400)] + [entry("clarity: "), entry(rating), entry("\n")]
    text = "word " * 400 + "clarity: 4\n"
    raw = kept(text, content)
    assert len(json.dumps(content)) > 500_000
    assert len(raw) - len(text) < 1000
    places = places_in(raw)
    assert places is not None
    assert [place.token for place in places] == ["4", "\n"]
    assert text[places[0].at :] == "4\n"
    assert places[0].other == pytest.approx(0)
    assert places_in(json.dumps(json.loads(raw))) == places


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 300) | st.floats() | st.text(max_size=5),
    lambda inside: (
        st.lists(inside, max_size=3)
        | st.dictionaries(
            st.sampled_from(["token", "logprob", "bytes", "top_logprobs", "content"]), inside, max_size=4
        )
    ),
    max_leaves=8,
)


@given(JSON, st.sampled_from(["", "clarity: 4"]))
def test_whatever_a_server_sends_is_no_error(sent: Any, text: str) -> None:
    choice: dict[str, Any] = {"logprobs": sent}
    keep_numbers(choice, text)
    places = places_in(json.dumps({"choices": [choice]}))
    found = expectation(text, 4, FIVE, places, lambda _: None)
    assert isinstance(found, str)


def test_its_confidence_is_the_probability_of_the_score_it_is_rounded_to() -> None:
    raw = kept("clarity: 4", [entry("clarity:"), entry({" 4": 0.5, " 3": 0.1, " 5": 0.4})])

    def read(reply: str) -> object:
        return (read_reply(reply, [Number("clarity", FIVE)]).values or {}).get("clarity")

    found = expectation("clarity: 4", 4.0, FIVE, places_in(raw), read)
    assert not isinstance(found, str)
    assert (found.value, found.confidence) == pytest.approx((4.3, 0.5), abs=1e-4)
