"""Prompts and replies in a report: each once, lines shared, and what is left out is said."""

from __future__ import annotations

import numpy as np

from metaeval.llm.calls.request import CallFailure, Message, Reply
from metaeval.llm.store.tools import Conversation
from metaeval.reports.report.units import Calls

KEYS = [None, np.array([["a", "b", "a"], ["c", "", "gone"]], dtype=object)]
PROMPT = "Rate this.\n\nThe text: {}\nAnswer:"


def conversation(text: str, reply: Reply) -> Conversation:
    return Conversation((Message("system", "Be fair."), Message("user", PROMPT.format(text))), reply)


CONVERSATIONS = {
    "a": conversation("<script>", Reply("4", "stop", model="m-1")),
    "b": conversation("two", Reply(refusal="no")),
    "c": conversation("three", Reply(error=CallFailure("transport", "no way", "timeout"))),
}


def test_a_prompt_comes_back_from_its_lines() -> None:
    found = Calls(CONVERSATIONS).payload(KEYS, np.array([0, 1, 2]))
    assert found["of"][0] is None
    (both, lone) = found["of"][1]
    assert both[0] == both[2]
    replies, lines = found["replies"], found["lines"]
    assert len(lines) == len(set(lines))
    first = replies[both[0]]
    assert [m["role"] for m in first["prompt"]] == ["system", "user"]
    assert "\n".join(lines[i] for i in first["prompt"][1]["lines"]) == PROMPT.format("<script>")
    assert (first["text"], first["finish"], first["model"]) == ("4", "stop", "m-1")
    assert replies[both[1]]["refusal"] == "no"
    assert replies[lone[0]]["error"] == "transport: no way"
    assert lone[1:] == [-1, -1]
    assert found["note"] == "1 call was not in the store when the page was made."


def test_a_thought_stands_beside_the_answer() -> None:
    shown = Reply("4", raw='{"choices": [{"message": {"reasoning": "Hm."}}]}', sent='{"temperature":null}')
    lost = Reply("", "length", raw='{"usage": {"completion_tokens_details": {"reasoning_tokens": 9}}}')
    calls = Calls({"a": conversation("one", shown), "b": conversation("two", lost)})
    one, other = calls.payload([np.array([["a", "b"]], dtype=object)], np.array([0, 1]))["replies"]
    assert (one["text"], one["thought"], one["sent"], one["usedUp"]) == (
        "4",
        "Hm.",
        "without temperature",
        False,
    )
    assert (other["text"], other["thought"], other["thoughtTokens"], other["usedUp"]) == ("", "", 9, True)


def test_a_page_that_would_be_too_large_says_what_it_leaves_out() -> None:
    found = Calls(CONVERSATIONS, most=10).payload(KEYS, np.array([0, 1]))
    assert [r["key"] for r in found["replies"]] == ["a"]
    assert "2 calls were left out of this page" in found["note"]
