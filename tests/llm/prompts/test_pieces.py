"""A template that is filled in pieces prints what it prints as a whole."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metaeval.llm.prompts import limits, pieces
from metaeval.llm.prompts.pieces import Pieces
from metaeval.llm.prompts.syntax import _environment, fill

PARTS = st.sampled_from(
    [
        "plain text\n",
        "{{ a }}",
        "{{ b | fenced('tag') }}\n",
        "{% if a %}A {{ b }}{% else %}none{% endif %}",
        "{% for one in many %}{{ loop.index }} {{ one.name }}{{ ', ' if not loop.last }}{% endfor %}",
        "{% set x = a %}",
        "{% set y = x ~ '!' if x is defined else 'none' %}",
        "{% set x = 'again' %}",
        "{{ x if x is defined }}",
        "{{ y if y is defined }}",
        "{% set b = b ~ '+' %}",
        "{% if b %}{% set z = b %}{% endif %}{{ z if z is defined }}",
        "{% macro m(t) %}[{{ t }}]{% endmacro %}{{ m(a) }}",
        "{% for a in many %}{{ a.name }}{% endfor %}{{ a }}",
        "{% filter upper %}{{ a }}{% endfilter %}",
    ]
)
GIVEN = st.fixed_dictionaries(
    {
        "a": st.sampled_from(["", "a", 1, 1.0, True, 0.0, -0.0, False, "1"]),
        "b": st.sampled_from(["b", "B"]),
        "many": st.lists(st.fixed_dictionaries({"name": st.sampled_from(["n", 1, True])}), max_size=2),
    }
)


def whole(body: str, values: dict[str, object]) -> str:
    until = time.monotonic() + limits.SECONDS
    return limits.fill(_environment().from_string(body), values, limits.BUDGET, until)[0]


@settings(max_examples=60)
@given(st.lists(PARTS, min_size=1, max_size=8), st.lists(GIVEN, min_size=1, max_size=5))
def test_pieces_print_what_the_whole_prints(parts: list[str], every: list[dict[str, object]]) -> None:
    body = "".join(parts)
    found = Pieces(_environment(), body)
    for values in [*every, *every]:
        assert found.fill(values) == whole(body, values)


def test_a_list_that_was_changed_is_printed_as_it_is_now() -> None:
    names = [{"name": "first"}]
    body = "{% for one in many %}{{ one.name }}{% endfor %}"
    assert fill(body, {"many": names}) == "first"
    names[0]["name"] = "second"
    assert fill(body, {"many": names}) == "second"


def test_pieces_share_one_budget_also_where_their_texts_are_kept() -> None:
    body = "{{ a }}{{ b }}{% if c %}{{ c }}{% endif %}"
    big = "x" * (limits.BUDGET * 2 // 5)
    assert len(fill(body, {"a": big, "b": "", "c": ""})) == len(big)
    for _ in range(2):
        with pytest.raises(ValueError, match="handles more than"):
            fill(body, {"a": big, "b": "", "c": big + big})
    assert len(fill(body, {"a": big, "b": "", "c": ""})) == len(big)


def test_what_is_kept_does_not_grow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "_KEPT", 10_000)
    found = Pieces(_environment(), "{% if hidden %}{{ text }}{% endif %}")
    for i in range(200):
        found.fill({"text": str(i), "hidden": "y" * 1000})
    (piece,) = found._pieces
    assert sum(len(part or "") for key in piece._kept for part in key) <= 10_000


def test_a_value_that_cannot_be_compared_is_printed_every_time() -> None:
    class Odd(str):
        def __reduce__(self) -> str:
            raise TypeError("not this")

    assert [fill("{{ a }}", {"a": Odd(x)}) for x in "xyx"] == ["x", "y", "x"]
