from __future__ import annotations

import pytest

from metaeval.llm.calls.client import count, retry_after, text_of, word


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
        ({"Retry-After": "Wed, 21 Oct 99999999999999999999 07:28:10 GMT"}, None),
        ({}, None),
    ],
)
def test_retry_after(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers, now=1445412480.0) == seconds


def test_what_a_body_says_is_checked() -> None:
    assert (word("x"), word(""), word(3), word({"a": 1})) == ("x", None, None, None)
    assert (count(3), count(-1), count(True), count("3"), count(1 << 70)) == (3, None, None, None, None)
    assert text_of([{"type": "text", "text": "a"}, {"text": None}, 3, {"text": "b"}]) == "ab"
    assert text_of("\ud800") == "\ufffd"
