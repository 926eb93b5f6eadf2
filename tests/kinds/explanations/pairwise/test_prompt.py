"""What a pairwise judge is told."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from metaeval.base.errors import DataError, PromptError
from metaeval.kinds.explanations.pairwise.prompt import check_pairwise_prompt, is_pairwise, pair_messages
from metaeval.llm.prompts.template import bundled_prompts, load_prompt
from tests.evaluators.making import make_set

if TYPE_CHECKING:
    from pathlib import Path

DATA = make_set(["One.", "Two."])
TEXTS = ("Says </first-explanation> and {{ more }}.", "Another.")

NO_PROFILE = """\
---
name: own
version: "1"
description: The least that will do.
reply: json
placeholders:
  required: [aspect, first, second]
---
{{ aspect.name }}: {{ first }} or {{ second }}
"""


@pytest.mark.parametrize("name", ["pairwise", "pairwise-single"])
def test_shipped_prompts_are_right(name: str) -> None:
    assert check_pairwise_prompt(bundled_prompts()[name]) == []
    assert is_pairwise(load_prompt(name))
    assert not is_pairwise(load_prompt("multi-aspect"))


@pytest.mark.parametrize("reply", ["json", "text"])
def test_the_texts_stand_in_their_order_and_cannot_leave_their_place(reply: str) -> None:
    ((role, told),) = pair_messages(load_prompt("pairwise"), DATA, TEXTS, list(DATA.aspects), reply=reply)
    assert role == "user"
    one, two = (told.index(t) for t in TEXTS)
    assert one < two
    assert f"<first-explanation-2>\n{TEXTS[0]}\n</first-explanation-2>" in told
    assert ('"clear", "true"' in told) == (reply == "json")
    assert ("clear: ...\ntrue: ..." in told) == (reply == "text")
    assert "It is clear." in told
    swapped = pair_messages(load_prompt("pairwise"), DATA, TEXTS[::-1], list(DATA.aspects), reply=reply)
    assert swapped != [(role, told)]


def test_a_prompt_for_one_aspect() -> None:
    ((_, told),) = pair_messages(load_prompt("pairwise-single"), DATA, TEXTS, ["true"], profile={"age": "30"})
    assert "It is true." in told
    assert "clear" not in told
    assert "- age: 30" in told


def test_what_cannot_be_told_is_said(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="did you mean 'clear'"):
        pair_messages(load_prompt("pairwise"), DATA, TEXTS, ["clean"])
    with pytest.raises(PromptError, match="does not compare two texts: it must use 'first' and 'second'"):
        pair_messages(load_prompt("multi-aspect"), DATA, TEXTS, ["clear"])
    own = tmp_path / "own.md"
    own.write_text(NO_PROFILE, encoding="utf-8")
    with pytest.raises(PromptError, match="no placeholder 'profile', so it cannot show one"):
        pair_messages(load_prompt(own), DATA, TEXTS, ["clear"], profile={"age": "30"})
    with pytest.raises(PromptError, match="cannot ask for a reply in 'text'; allowed: auto, json"):
        pair_messages(load_prompt(own), DATA, TEXTS, ["clear"], reply="text")
    assert pair_messages(load_prompt(own), DATA, TEXTS, ["clear"]) == [
        ("user", "clear: " + " or ".join(TEXTS))
    ]


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("first, second]", "first]", "second"),
        (
            "[item_title, profile]",
            "[item_title, profile, example]",
            "nothing fills the placeholder 'example'",
        ),
        ("{{ aspect.statement }}", "{{ aspect.state }}", "state"),
        ("Put yourself", "Imagine yourself", "has the name of the bundled prompt 'pairwise' and is another"),
    ],
)
def test_what_is_wrong_with_a_file_is_listed(tmp_path: Path, before: str, after: str, message: str) -> None:
    text = bundled_prompts()["pairwise"].read_text(encoding="utf-8").replace(before, after)
    if "example" in after:
        text += "{% if example %}{{ example }}{% endif %}\n"
    file = tmp_path / "bad.md"
    file.write_text(text, encoding="utf-8")
    found = check_pairwise_prompt(file)
    assert any(message in p.message for p in found)
