"""A value that many prompts show is shown as it was when it was given."""

from __future__ import annotations

from metaeval.judging.prompts import JudgePrompt
from metaeval.llm.prompts.same import Same
from metaeval.llm.prompts.syntax import fill
from metaeval.llm.prompts.template import load_prompt


def test_a_value_is_shown_as_it_was() -> None:
    names = [{"name": "first"}]
    same = Same(names)
    names[0]["name"] = "second"
    body = "{% for one in many %}{{ one.name }} {% endfor %}{{ a }}"
    assert fill(body, {"many": same, "a": "x"}) == "first x"
    assert fill(body, {"many": Same(names), "a": "x"}) == "second x"
    assert fill(body, {"many": names, "a": Same(True)}) == "second True"
    assert fill(body, {"many": names, "a": Same(1)}) == "second 1"


def test_a_list_that_a_caller_changes_does_not_change_a_prompt_that_is_under_way() -> None:
    aspects = [{"name": "clarity", "statement": "It is clear."}]
    fixed = {"scale_min": "1", "scale_max": "5", "integer": True}
    known = [*load_prompt("multi-aspect").placeholders]
    prompt = JudgePrompt(load_prompt("multi-aspect"), aspects, fixed, known=known)
    before = prompt.messages({"explanation": "a text"})
    aspects[0]["statement"] = "It is another."
    assert prompt.messages({"explanation": "a text"}) == before
