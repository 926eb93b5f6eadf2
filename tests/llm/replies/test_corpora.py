"""Replies of real models: what they give is read, whatever the value, and nothing is made up."""

from __future__ import annotations

import gzip
import json
import random
import re
import time
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML
from scipy.stats import chi2_contingency

from metaeval.base.records import Scale, Status
from metaeval.data.replies import ASPECT_ALIASES
from metaeval.llm.replies.fields import Choice, Number
from metaeval.llm.replies.patterns import ReplyPattern
from metaeval.llm.replies.reader import Parsed, read_reply
from tests.llm.replies.reading import parse_reply

FIVE = Scale(1, 5)
FOUR = ("persuasiveness", "transparency", "accuracy", "satisfaction")
PLAIN = [
    (reply, group)
    for group in YAML(typ="safe").load(Path(__file__).with_name("plain.yaml"))
    for reply in group["replies"]
]


def lines_of(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as file:
        return [json.loads(line) for line in file]


@pytest.mark.parametrize(("reply", "group"), PLAIN, ids=[reply for reply, _ in PLAIN])
def test_a_plain_reply_is_read(reply: str, group: dict[str, Any]) -> None:
    found = parse_reply(reply, group["fields"], 1, 5, True, aliases=ASPECT_ALIASES)
    assert found.values == dict(zip(group["fields"], group["values"], strict=True)), found


def rated(case: dict[str, Any]) -> Parsed:
    low, high = case.get("scale", (1, 5))
    return read_reply(case["reply"], [Number(case["aspect"], Scale(low, high))])


def test_ratings_of_chat_answers(real_data: Path) -> None:
    """The authors' parser gives 0 where it finds nothing, and cuts fractions, which are off the scale."""
    cases = lines_of(real_data / "replies" / "ratings.jsonl.gz")
    read = [(case, rated(case)) for case in cases]
    with_value = [
        (c, r) for c, r in read if re.search(r"\d", c["reply"]) and r.status is not Status.OUT_OF_RANGE
    ]
    assert sum(r.status is Status.OK for _, r in with_value) >= 0.999 * len(with_value)
    differ = [c["reply"] for c, r in read if r.values and r.values[c["aspect"]] != c["authors"]]
    assert differ == ["1. Groundedness: 0"]  # the authors took the number of the item
    assert all("." in c["reply"] for c, r in read if r.status is Status.OUT_OF_RANGE)
    # Whether a reply is read does not depend on what the authors read.
    for scale in ([1, 3], [0, 1]):
        of_scale = [(c, r) for c, r in with_value if c["scale"] == scale]
        table = [
            [
                sum(c["authors"] == v and (r.status is Status.OK) is ok for c, r in of_scale) + 0.5
                for ok in (True, False)
            ]
            for v in range(scale[0], scale[1] + 1)
        ]
        assert chi2_contingency(table).pvalue > 0.01


def test_ratings_of_summaries(real_data: Path) -> None:
    read = [rated(case) for case in lines_of(real_data / "replies" / "summaries.jsonl")]
    assert sum(r.status is Status.OK for r in read) >= 0.99 * len(read)
    assert sum(r.status is Status.UNPARSED for r in read) <= 6


def independent(read: list[bool], values: list[str]) -> bool:
    """Say whether no value is lost more often than another."""
    table = [
        [
            sum(r is ok and v == value for r, v in zip(read, values, strict=True)) + 0.5
            for value in set(values)
        ]
        for ok in (True, False)
    ]
    return bool(chi2_contingency(table).pvalue > 0.01)


def test_verdicts_on_a_last_line(real_data: Path) -> None:
    """All 1,600 are read as the authors read them: the last line, whatever the prose above it."""
    field = Choice("choice", {"first": ["1"], "second": ["2"], "tie": ["3"]}, ("answer", "verdict", "winner"))
    cases = [case for path in sorted((real_data / "prd").glob("*.jsonl.gz")) for case in lines_of(path)]
    values = [["first", "second", "tie"][case["score"] - 1] for case in cases]
    read = [(read_reply(case["text"], [field]).values or {}).get("choice") for case in cases]
    assert len(read) == 1600
    assert read == values


CHOICES = {
    "mtbench": {"first": ["A"], "second": ["B"], "tie": ["C"]},
    "summeval-h2h": {"first": ["A"], "second": ["B"], "tie": ["C"]},
    "judgebench-arena-hard": {"first": ["A>>B", "A>B"], "second": ["B>A", "B>>A"], "tie": ["A=B"]},
}
PATTERNS = {"mtbench": "mt-bench", "judgebench-arena-hard": "arena-hard"}


@pytest.mark.parametrize("source", CHOICES)
def test_verdicts(source: str, real_data: Path) -> None:
    field = Choice("choice", CHOICES[source])
    cases = [c for c in lines_of(real_data / "replies" / "choices.jsonl.gz") if c["source"] == source]
    ways = [None, *([ReplyPattern.model_validate(PATTERNS[source])] if source in PATTERNS else [])]
    for pattern in ways:
        read = [(read_reply(c["reply"], [field], pattern=pattern).values or {}).get("choice") for c in cases]
        of_authors = [(c["authors"], r) for c, r in zip(cases, read, strict=True) if c["authors"]]
        assert sum(a == r for a, r in of_authors) >= 0.99 * len(of_authors)
        assert not any(r and a != r for a, r in of_authors)
        assert independent([r is not None for _, r in of_authors], [a for a, _ in of_authors])


def test_misleading_replies(real_data: Path) -> None:
    """Of 317 that were made up to mislead, few give a value; those in JSON by the schema give none wrong."""
    invented = []
    cases = lines_of(real_data / "replies" / "nasty.jsonl")
    for case in cases:
        more = {"form": case["form"], "prompt": case.get("prompt"), **case.get("extra", {})}
        found = parse_reply(case["reply"], case["aspects"], *case["scale"], case["integer"], **more)
        if found.values is not None and found.values not in case["expected"]:
            invented.append(case)
    assert len(invented) <= 0.03 * len(cases)
    assert not [
        c for c in invented if c["reply"][:1] == "{" and set(json.loads(c["reply"])) == set(c["aspects"])
    ]


def test_no_word_of_a_reason_vetoes_a_value(real_data: Path) -> None:
    """Objects valid by the schema, whose reasons are any two sentences of real replies."""
    names = ("ratings.jsonl.gz", "choices.jsonl.gz", "summaries.jsonl")
    replies = [case["reply"] for name in names for case in lines_of(real_data / "replies" / name)]
    sentences = [s for reply in replies for s in re.split(r"(?<=[.!?])\s+", reply) if s]
    draw = random.Random(0)  # noqa: S311 - a test
    fields = [Number(name, FIVE, reason=True) for name in FOUR]
    for _ in range(2_000):
        scores = {name: draw.randint(1, 5) for name in FOUR}
        said = {n: {"reason": " ".join(draw.choices(sentences, k=2)), "score": s} for n, s in scores.items()}
        text = json.dumps(said, ensure_ascii=draw.random() < 0.5, indent=draw.choice([None, 2]))
        assert read_reply(text, fields, form=draw.choice(["auto", "json"])).values == scores, text


REASONS = (
    "I cannot say why it was recommended.",
    "The critics loved it, and 61 percent of the users did.",
    "A score of 5 would need examples; it is better than the other one, hence not the maximum.",
    "Initially unclear, but then fine. The film of 1999 is the best one.",
    "Actually, no reason is stated.",
    "内容比较笼统，一半以上与我无关，没有说明推荐原因。",
)
FORMS = {
    "objects": lambda r: json.dumps({f: {"reason": r, "score": 4} for f in FOUR}),
    "flat": lambda r: json.dumps({"reasoning": r, **dict.fromkeys(FOUR, 4)}),
    "entries": lambda r: json.dumps([{"aspect": f, "score": 4, "reason": r} for f in FOUR]),
    "dashes": lambda r: "\n".join(f"{f}: 4 - {r}" for f in FOUR),
    "lines": lambda r: "\n".join(f"**{f}: 4/5**\n{r}\n" for f in FOUR),
    "sections": lambda r: "\n".join(f"### {f}\n{r}\nScore: 4\n" for f in FOUR),
    "before": lambda r: f"{r}\n" + json.dumps(dict.fromkeys(FOUR, 4)),
}


@pytest.mark.parametrize("reason", REASONS)
@pytest.mark.parametrize("form", FORMS)
def test_a_reason_may_speak_of_anything_but_values(form: str, reason: str) -> None:
    found = parse_reply(FORMS[form](reason), FOUR, 1, 5, True)
    assert found.values == dict.fromkeys(FOUR, 4), found


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


FRAGMENTS = (
    "persuasiveness:", "persuasiveness: 4 ", "persuasiveness: 4\n", "persuasiveness (", "score ",
    "4 -> ", "4, ", "4,", "4/5 ", "1. ", "9", "9 ", ".", "a ", "word. ", "\n", " ", "final ", "my ", "( ",
    "<think>", "</think>", "◁think▷", "<|", "< ", "<score>4</score>", "*", "`", '"', "| ", "scoring a ",
    "[", "]", "[{", "{", "}", "{}", "(", '{"a":', '{"persuasiveness":4} ', "\\boxed{", "四分 ", "\r\n",
    "★", "★ ", "⭐ ", "4★ ", "four out of ", "[[A]] ", "A ", "A is ", "choice: ", "better is A", "choose A, ",
    "Score: 4. ", "not ", "“", "so my ",
    '" ', '"a ', "> ", "<a>", "<a>4", "</a>", "<score>", "I would give it a ", "it is ",
    "给", "评分", ", i ", "based on ", "1-5 ", "on a scale of 1 to ", "A: ", "A\n", "Choice: A\n",
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("fragment", FRAGMENTS)
def test_time_is_bounded_whatever_the_reply(fragment: str) -> None:
    """For one aspect, for two and for a choice; 24,000 characters, and a million."""
    choice = [Choice("choice", CHOICES["mtbench"])]
    for length in (24_000, 1_000_000):
        text = (fragment * length)[:length]
        start = time.process_time()
        parse_reply(text, ["persuasiveness"], 1, 5, True)
        parse_reply(text, ["persuasiveness", "accuracy"], 1, 5, True)
        read_reply(text, choice)
        assert time.process_time() - start < 3
