from __future__ import annotations

import pytest

from metaeval.llm.calls.client import (
    DeniedError,
    RejectedError,
    RetryableError,
    count,
    failed,
    retry_after,
    text_of,
    word,
)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "7"}, 7),
        ({"retry-after": "0.5"}, 0.5),
        ({"Retry-After-Ms": "250", "Retry-After": "7"}, 0.25),
        ({"Retry-After": "Wed, 21 Oct 2015 07:28:10 GMT"}, 10),
        ({"Retry-After": "Wed, 21 Oct 2015 07:27:00 GMT"}, 0),
        ({"Retry-After": "-5"}, 0),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": "inf"}, None),
        ({}, None),
    ],
)
def test_retry_after(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers, now=1445412480.0) == seconds


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 504, 529])
def test_what_may_pass_is_tried_again(status: int) -> None:
    with pytest.raises(RetryableError) as caught:
        failed(status, "", "busy", wait=3.0)
    assert (caught.value.retry_after, caught.value.code) == (3.0, str(status))


@pytest.mark.parametrize("status", [401, 402, 403, 404])
def test_what_holds_for_all_is_denied(status: int) -> None:
    with pytest.raises(DeniedError):
        failed(status, "", "no")


@pytest.mark.parametrize("status", [400, 413, 422, 501])
def test_what_is_wrong_with_one_is_rejected(status: int) -> None:
    with pytest.raises(RejectedError):
        failed(status, "", "no")


def test_a_filter_is_a_refusal_and_an_empty_account_is_not_a_limit() -> None:
    assert failed(400, "content_filter", "blocked").refusal == "blocked"
    with pytest.raises(DeniedError):
        failed(429, "insufficient_quota", "pay", denied=["insufficient_quota"])
    with pytest.raises(RetryableError):
        failed(429, "insufficient_quota", "wait")


def test_what_a_body_says_is_checked() -> None:
    assert (word("x"), word(""), word(3), word({"a": 1})) == ("x", None, None, None)
    assert (count(3), count(-1), count(True), count("3"), count(1 << 70)) == (3, None, None, None, None)
    assert text_of([{"type": "text", "text": "a"}, {"text": None}, 3, {"text": "b"}]) == "ab"
    assert text_of("\ud800") == "\ufffd"
