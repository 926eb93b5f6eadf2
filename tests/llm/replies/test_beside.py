"""Replies that mislead give no value, plain ones keep theirs, and both are read in linear time."""

from __future__ import annotations

import json
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from metaeval.base.records import Status
from metaeval.kinds.explanations.judge.prompt import ASPECT_ALIASES
from tests.llm.replies.reading import parse_reply

NASTY, PLAIN = (
    [
        (reply, group)
        for group in YAML(typ="safe").load(Path(__file__).with_name(name))
        for reply in group["replies"]
    ]
    for name in ("nasty.yaml", "plain.yaml")
)


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]


@pytest.mark.parametrize(("reply", "group"), NASTY, ids=[reply for reply, _ in NASTY])
def test_a_reply_that_gives_no_value_is_not_read(reply: str, group: dict[str, Any]) -> None:
    found = parse_reply(reply, group["fields"], *group["scale"])
    assert found.values is None
    assert found.reason


@pytest.mark.parametrize(("reply", "group"), PLAIN, ids=[reply for reply, _ in PLAIN])
def test_a_plain_reply_is_read(reply: str, group: dict[str, Any]) -> None:
    found = parse_reply(reply, group["fields"], 1, 5, True, aliases=ASPECT_ALIASES)
    assert found.values == dict(zip(group["fields"], group["values"], strict=True)), found


REASONS = (
    "I cannot say why it was recommended.",
    "No explanation is given of why it fits me.",
    "The critics loved it, and 61 percent of the users did.",
    "It feels like a template, and I would ignore it.",
    "This is a good example of a clear text.",
    "It should be shorter; the first sentence is too long.",
    "Names 3 films I know, seen by 21,503 people.",
    "Initially unclear, but then fine. The film of 1999 is the best one.",
    "Not clear at all. Actually, no reason is stated.",
    "内容比较笼统，一半以上与我无关，没有说明推荐原因。",
)
FORMS = {
    "objects": lambda r: json.dumps({f: {"reason": r, "score": 4} for f in FIELDS}),
    "flat": lambda r: json.dumps({"reasoning": r, **dict.fromkeys(FIELDS, 4)}),
    "entries": lambda r: json.dumps([{"aspect": f, "score": 4, "reason": r} for f in FIELDS]),
    "dashes": lambda r: "\n".join(f"{f}: 4 - {r}" for f in FIELDS),
    "lines": lambda r: "\n".join(f"**{f}: 4/5**\n{r}\n" for f in FIELDS),
    "sections": lambda r: "\n".join(f"### {f}\n{r}\nScore: 4\n" for f in FIELDS),
    "before": lambda r: f"{r}\n" + json.dumps(dict.fromkeys(FIELDS, 4)),
    "after": lambda r: json.dumps(dict.fromkeys(FIELDS, 4)) + f"\n\n{r}",
}
FIELDS = ("accuracy", "satisfaction")


@pytest.mark.parametrize("reason", REASONS)
@pytest.mark.parametrize("form", FORMS)
def test_a_reason_may_speak_of_anything_but_values(form: str, reason: str) -> None:
    found = parse_reply(FORMS[form](reason), FIELDS, 1, 5, True)
    assert found.values == dict.fromkeys(FIELDS, 4), found


@pytest.mark.parametrize("mark", ["THINK", "think", "scratchpad", "Reasoning"])
@pytest.mark.parametrize(
    ("begin", "end"), [("<{}>", "</{}>"), ("<{} >", "</{} >"), ("[{}]", "[/{}]"), ("◁{}▷", "◁/{}▷")]
)
def test_reasoning_in_marks_is_no_answer(mark: str, begin: str, end: str) -> None:
    thought = begin.format(mark) + '{"clarity": 1}'
    assert parse_reply(thought, ["clarity"], 1, 5, True).status is Status.TRUNCATED
    closed = thought + end.format(mark)
    assert parse_reply(closed, ["clarity"], 1, 5, True).values is None
    assert parse_reply(closed + '{"clarity": 4}', ["clarity"], 1, 5, True).values == {"clarity": 4}


def test_misleading_replies_made_by_others(real_data: Path) -> None:
    invented = []
    for case in lines_of(real_data / "replies" / "nasty.jsonl"):
        found = parse_reply(
            case["reply"],
            case["aspects"],
            *case["scale"],
            case["integer"],
            form=case["form"],
            prompt=case.get("prompt"),
            **case.get("extra", {}),
        )
        if found.values is not None and found.values not in case["expected"]:
            invented.append((case["id"], found.values))
    assert invented == []


def test_real_replies_give_what_a_careful_person_reads(real_data: Path) -> None:
    """``summaries.txt`` has a digit per reply in order, as read by a person, or ``-`` for no whole number."""
    by_hand = "".join(Path(__file__).with_name("summaries.txt").read_text(encoding="utf-8").split())
    cases = lines_of(real_data / "replies" / "summaries.jsonl")
    wrong, unread = [], []
    for case, said in zip(cases, by_hand, strict=True):
        found = parse_reply(case["reply"], [case["aspect"]], 1, 5, True)
        if found.values is None:
            unread.append(said)
        elif f"{found.values[case['aspect']]:g}" != said:
            wrong.append(case["id"])
    assert wrong == []
    assert Counter(unread) == {"-": 9, "1": 8, "2": 5, "3": 7, "4": 14, "5": 10}
    readable = len(by_hand) - by_hand.count("-")
    assert len(unread) - by_hand.count("-") < 0.03 * readable


FRAGMENTS = (
    "persuasiveness:", "persuasiveness: 4 ", "persuasiveness: 4\n", "persuasiveness (",
    "persuasiveness is 4 ", "Score: 4. ", "score: 4, because ",
    "4 -> ", "4, ", "4/5 ", "1. ", "9", "9 ", "a ", "word. ", "\n", " ",
    "<think>", "</think>", "◁think▷", "<|", "< ", "<b>", "<score>4</score>", "~~", "*", "`", '"', "'", "| ",
    "[", "]", "[{", "{", "}", "{}", "(", '{"a":', '{"persuasiveness":4} ', "\\boxed{", "四分 ", "\r\n",
    "I cannot ", "the ratings are ",
)  # fmt: skip
STATED = (
    "scoring a ", ", scoring a 4 out of 5", "I would give it a 4. ", "I would give it a perfect ",
    "I rate the clarity of ", "The text, with a score of 4, ", "perfect clarity score ", "Final score: 4; ",
    "4 out of five for clarity ", "four out of ", "if ", "The text says that ", "overall, ", "my score\n",
    "★", "★ ", "⭐ ", "4★ ", "因此给", "我给4分,", "四颗星。", "- 4 ", "word. ", "4, ", "Score: 4. ", '"',
)  # fmt: skip
TEXTS = [(f, ("persuasiveness", "accuracy")) for f in FRAGMENTS] + [(f, ("clarity",)) for f in STATED]


def seconds(text: str, fields: tuple[str, ...], enough: float = 0.0) -> float:
    """Return the least of three times, or the first that is below ``enough``."""
    best = float("inf")
    for _ in range(3):
        start = time.process_time()
        parse_reply(text, fields, 1, 5, True)
        best = min(best, time.process_time() - start)
        if best < enough:
            break
    return best


@pytest.mark.parametrize(("fragment", "fields"), TEXTS)
def test_time_grows_with_the_length_of_a_reply(fragment: str, fields: tuple[str, ...]) -> None:
    long = seconds((fragment * 24_000)[:24_000], fields, 0.05)
    # Four times as long; a quadratic reader takes 16 times.
    assert long < 0.05 or long < 9 * seconds((fragment * 6_000)[:6_000], fields)


@pytest.mark.parametrize(("fragment", "fields"), TEXTS)
def test_a_reply_of_a_megabyte_takes_no_time_to_speak_of(fragment: str, fields: tuple[str, ...]) -> None:
    assert seconds((fragment * 1_000_000)[:1_000_000], fields, 2) < 2


@pytest.mark.parametrize("around", ['{"a":%s}', "[%s]", '[{"a":%s}]', "{'a':%s}", "(%s)"])
def test_deep_nesting_is_no_error(around: str) -> None:
    before, after = around.split("%s")
    for depth in (100, 1_000, 100_000):
        found = parse_reply(before * depth + '"?"' + after * depth, ["clarity"], 1, 5, True)
        assert found.values is None
