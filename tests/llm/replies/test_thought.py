"""What a model thought, wherever a server leaves it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaeval.llm.providers.answers import Thought, filled_beside, thought_in
from metaeval.llm.replies.reader import answer_in

ANSWER = "clarity: 4"


def raw(message: dict[str, Any], **usage: Any) -> str:
    return json.dumps({"choices": [{"message": message}], "usage": usage})


@pytest.mark.parametrize(
    ("text", "body", "thought", "tokens"),
    [
        (ANSWER, raw({"content": ANSWER, "reasoning_content": "Hm."}), "Hm.", 0),
        (ANSWER, raw({"reasoning": "Hm."}, completion_tokens_details={"reasoning_tokens": 7}), "Hm.", 7),
        (ANSWER, raw({"content": [{"type": "thinking", "thinking": [{"text": "Hm."}]}]}), "Hm.", 0),
        (ANSWER, raw({}, prompt_tokens=3, completion_tokens=4, total_tokens=10), "", 3),
        (f"<think>\nHm. clarity: 1\n</think>\n{ANSWER}", raw({}), "Hm. clarity: 1", 0),
        (f"Hm.</think>{ANSWER}", "", "Hm.", 0),
        (ANSWER, json.dumps({"output": {"choices": [{"message": {"reasoning_content": "Hm."}}]}}), "Hm.", 0),
        (ANSWER, '{"choices": [null], "usage": []}', "", 0),
    ],
)
def test_where_it_is(text: str, body: str, thought: str, tokens: int) -> None:
    assert thought_in(text, body) == Thought(thought, tokens, ANSWER)


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        (raw({"content": "", "reasoning_content": ANSWER}), ["reasoning_content"]),
        (
            raw({"content": None, "reasoning": ANSWER, "tool_calls": [{"id": "1"}]}),
            ["reasoning", "tool_calls"],
        ),
        (raw({"content": [{"type": "thinking", "thinking": "Hm."}]}), ["thinking parts of content"]),
        (raw({"content": "", "reasoning_content": None, "tool_calls": []}), []),
        ('{"choices": []}', []),
        ("", []),
    ],
)
def test_what_stands_beside_a_text(body: str, fields: list[str]) -> None:
    assert filled_beside(body) == fields


def test_a_thought_that_never_ends_has_no_answer() -> None:
    assert thought_in("<think>clarity: 4", "") == Thought("clarity: 4", 0, "")


@given(
    st.lists(
        st.sampled_from(["<think>", "</think>", "a", "\n", "[THINK]", "b 4", "</reasoning>"]), max_size=9
    )
)
def test_what_is_shown_as_the_answer_is_what_is_read(parts: list[str]) -> None:
    text = "".join(parts)
    read = answer_in(text)
    assert thought_in(text, "").answer.split() == (read or "").split()
