"""Rubrics in the headers of prompt files."""

from __future__ import annotations

from pathlib import Path

import pytest

from metaeval.base.errors import PromptError
from metaeval.llm.prompts.file import Anchor, Dimension, Rubric, vague
from metaeval.llm.prompts.template import bundled_prompts, check_prompt, load_prompt

HEADER = """\
---
name: mine
version: "3"
description: Judges claims.
base: rubric
scale: {min: 1, max: 5}
dimensions:
  faithfulness:
    question: Is every claim supported by what is known of the item?
    anchors:
      1: A claim is contradicted, or made up.
      5: Every claim is supported; nothing is added.
      3: Mostly supported; one plausible detail is not.
  brevity:
    anchors: {5: "One sentence.", 1: "More than five."}
---
"""


def write(folder: Path, text: str = HEADER, name: str = "mine.md") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_a_rubric_is_read(tmp_path: Path) -> None:
    template = load_prompt(write(tmp_path))
    assert template.rubric is not None
    faithfulness, brevity = template.rubric.dimensions
    assert faithfulness.question == "Is every claim supported by what is known of the item?"
    assert [a.level for a in faithfulness.anchors] == [5, 3, 1]
    assert brevity == Dimension("brevity", "", (Anchor(5, "One sentence."), Anchor(1, "More than five.")))
    assert (template.rubric.scale_min, template.rubric.scale_max) == (1, 5)
    assert template.rubric.dimension("brevity") is brevity
    assert template.rubric.dimension("clarity") is None


def test_a_base_gives_text_placeholders_and_reply(tmp_path: Path) -> None:
    template, base = load_prompt(write(tmp_path)), load_prompt("rubric")
    assert (template.parts, template.reply) == (base.parts, base.reply)
    assert template.placeholders == base.placeholders
    assert (template.name, template.version) == ("mine", "3")
    assert template.rubric != base.rubric
    other = load_prompt(write(tmp_path, HEADER.replace("base: rubric", "base: rubric-reference")))
    assert "reference" in other.required


def test_what_changes_the_hashes(tmp_path: Path) -> None:
    first = load_prompt(write(tmp_path))
    assert first.signature["rubric"] == first.rubric.hash
    assert {len(first.signature["rubric"]), len(first.hash)} == {64}
    other_text = load_prompt(write(tmp_path, HEADER.replace("rubric\n", "rubric-reference\n")))
    assert other_text.rubric.hash == first.rubric.hash
    assert other_text.hash != first.hash
    reordered = load_prompt(write(tmp_path, HEADER.replace("5: Every", "5:   Every")))
    assert reordered.rubric.hash == first.rubric.hash
    for old, new in (
        ("One sentence", "A sentence"),
        ("max: 5", "max: 6"),
        ("Is every", "Is each"),
        ("3: M", "2: M"),
    ):
        changed = load_prompt(write(tmp_path, HEADER.replace(old, new)))
        assert changed.rubric.hash != first.rubric.hash
        assert changed.hash != first.hash
    assert "rubric" not in load_prompt("multi-aspect").signature


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (
            "base: rubric",
            "base: rubrik",
            "base is 'rubrik', which is not a bundled prompt; did you mean 'rubric'?",
        ),
        (
            "base: rubric",
            "base: multi-aspect",
            "'multi-aspect', which has no dimensions; allowed: rubric, rubric-",
        ),
        ("base: rubric", "base: rubric\nreply: json", "has both base and reply"),
        ("base: rubric", "", "the key 'reply' is missing from the header"),
        ("dimensions:", "dimesions:", "unknown key 'dimesions'; did you mean 'dimensions'?"),
        ("dimensions:", "dimesions:", "has a base and no dimensions of its own"),
        ("scale: {min: 1, max: 5}", "", "dimensions need a scale, such as `scale: {min: 1, max: 5}`"),
        (
            "question:",
            "queston:",
            "line 9: unknown key 'queston'; did you mean 'question'?",
        ),
        ("5: Every", "6: Every", "dimension 'faithfulness' has an anchor at 6, off the scale from 1 to 5"),
        ("5: Every", "best: Every", "a key of dimensions.faithfulness.anchors must be a number, not 'best'"),
        ("5: Every claim is supported; nothing is added.", "5: yes", ""),
        ("---\n", "---\nx", ""),
    ],
)
def test_what_is_wrong_with_a_rubric(tmp_path: Path, old: str, new: str, says: str) -> None:
    if old == "---\n":
        text, says = HEADER + "A text of its own.\n", "has both a base and a text of its own"
    else:
        assert old in HEADER
        text = HEADER.replace(old, new, 1)
    problems = check_prompt(write(tmp_path, text))
    if not says:
        assert problems == []  # YAML 1.2: yes is a word
        return
    assert any(says in p.message for p in problems), problems
    with pytest.raises(PromptError, match=r"mine\.md"):
        load_prompt(tmp_path / "mine.md")


def test_a_scale_is_for_dimensions(tmp_path: Path) -> None:
    text = bundled_prompts()["multi-aspect"].read_text(encoding="utf-8")
    path = write(tmp_path, text.replace("reply:", "scale: {min: 1, max: 5}\nreply:", 1))
    assert "has a scale and no dimensions" in str(check_prompt(path)[0])


def rubric(*anchors: tuple[float, str], name: str = "clarity", question: str = "") -> Rubric:
    return Rubric(1, 5, (Dimension(name, question, tuple(Anchor(*a) for a in anchors)),))


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (rubric((5, "Clear."), (1, "Unclear.")), []),
        (rubric(), ["'clarity' has no anchors"]),
        (rubric((5, "Clear.")), ["'clarity' has one anchor, at 5"]),
        (rubric((5, "Clear."), (1, "clear")), ["the anchors at 5 and 1 say the same"]),
        (rubric((5, "Clear."), (3, ""), (1, "Unclear.")), ["the anchor at 3 has no text"]),
        (rubric((5, "Good."), (1, "Bad."), name="overall", question="Would the user take it up?"), []),
        (rubric((5, "Good."), (1, "Bad."), name="quality of the argument"), []),
    ],
)
def test_vague_rubrics_are_seen(given: Rubric, says: list[str]) -> None:
    found = vague(given)
    assert len(found) == len(says), found
    for message, part in zip(found, says, strict=True):
        assert part in message


@pytest.mark.parametrize("name", ["rubric", "rubric-reference"])
def test_bundled_rubrics_are_anchored_at_5_3_and_1(name: str) -> None:
    found = load_prompt(name).rubric
    assert found is not None
    assert vague(found) == []
    for dimension in found.dimensions:
        assert [a.level for a in dimension.anchors] == [5, 3, 1]
        assert dimension.question.endswith("?")
