"""Replies: what is clear is read, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from metaeval.base.records import Scale, Status
from metaeval.data.replies import ASPECT_ALIASES
from metaeval.llm.replies.fields import Number, json_schema
from metaeval.llm.replies.reader import Parsed
from tests.llm.replies.reading import parse_reply

FOUR = ["persuasiveness", "transparency", "accuracy", "satisfaction"]
CASES: list[dict[str, Any]] = YAML(typ="safe").load(Path(__file__).with_name("replies.yaml"))


def numbers(names: list[str], scale: Scale, **more: Any) -> list[Number]:
    return [Number(name, scale, **more) for name in names]


def parsed(text: str | None, fields: list[str] = FOUR, scale: Any = (1, 5, True), **more: Any) -> Parsed:
    return parse_reply(text, fields, *scale, **{"aliases": ASPECT_ALIASES, **more})


def values(text: str, fields: list[str] = FOUR, scale: Any = (1, 5, True), **more: Any) -> list[float] | None:
    found = parsed(text, fields, scale, **more)
    assert (found.values is None) == (found.status is not Status.OK)
    assert bool(found.reason) == (found.values is None)
    return None if found.values is None else [found.values[f] for f in fields]


@pytest.mark.parametrize("case", CASES, ids=lambda c: c["id"])
def test_real_looking_reply(case: dict[str, Any]) -> None:
    fields = case.get("fields", FOUR)
    more = {k: case[k] for k in ("finish_reason", "refusal", "prompt") if k in case}
    found = parsed(case["reply"], fields, case.get("scale", (1, 5, True)), **more)
    assert found.status == case.get("status", "ok"), found
    if "values" in case:
        assert found.values == dict(zip(fields, case["values"], strict=True))
    else:
        assert found.values is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Score: 4", [4]),
        ("Rating: 4/5 because it is clear", [4]),
        ("**4**", [4]),
        ("four", [4]),
        ("accuracy: 4", [4]),
        ("Accuracy score: 4 points", [4]),
        ("I'd rate the accuracy as 4 out of 5.", [4]),
        ('{"score": 4}', [4]),
        ('{"rating": "4", "reason": "It has 2 parts."}', [4]),
        ("准确性为4分", [4]),
        ("评分：４", [4]),
        ("<answer>4</answer>", [4]),
        ("```\n4\n```", [4]),
        ("Accuracy: The genre fits me well. Score: 4", [4]),
        ("Accuracy: The genre fits me well (4/5)", [4]),
        ("Accuracy: 1. The genre fits. 2. The director does not.", None),
        ("Accuracy: 3 reasons speak for it", None),
        ("Accuracy: 4th best of the year", None),
        ("Accuracy: 4%", None),
        ("Accuracy: 4 assumptions are wrong", None),
        ("Accuracy: 1-5", None),
        ("Accuracy: 4?", None),
        ("Inaccuracy: 4", None),
        ("说服力4分，准确性3分。", [3]),
        ("Aspect 1 - Accuracy: 3", [3]),
        ("不准确性：4", None),
        ("The IMDb rating: 4", None),
        ("Accuracy is 4", [4]),
        ("Rating: [[4]]", [4]),
        ("A score of 4 for its detail.", [4]),
        ("Relevance: 4", None),
        ("准确性：5分制", None),
        ("准确性：一、类型符合；二、导演不符合", None),
        ("准确性：3个理由", None),
        ("4 5", None),
        ("1-5", None),
        ('{"accuracy": true}', None),
        ('{"accuracy": NaN}', None),
        ('{"accuracy": [4]}', None),
        ('{"accuracy": 4, "accuracy": 3}', None),
        ('{"accuracy": 1' + "0" * 400 + "}", None),
        ("{" * 5000, None),
        ('{"a":' * 3000 + "1" + "}" * 3000, None),
        ("[" * 5000 + "]" * 5000, None),
    ],
)
def test_one_field(text: str, expected: list[float] | None) -> None:
    assert values(text, ["accuracy"]) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("3 4 4 2", [3, 4, 4, 2]),
        ("[3, 4, 4, 2]", [3, 4, 4, 2]),
        ("Final scores: 3/5, 4/5, 4/5, 2/5", [3, 4, 4, 2]),
        ("Scores:\n3, 4, 4, 2", [3, 4, 4, 2]),
        ("总结：3 4 4 2", [3, 4, 4, 2]),
        ("Summary: 3 4 4", None),
        ("Summary: 3 4 4 2\nPersuasiveness: 4", None),
        ("Scale: 1 2 3 4 5", None),
        ("Persuasiveness: 4, Transparency: 3, Accuracy: 4, Satisfaction: 2", [4, 3, 4, 2]),
        ("Persuasiveness: 4; Transparency: 3; Accuracy: 4; and Satisfaction: 2", [4, 3, 4, 2]),
        ("Persuasiveness = 4 | Transparency = 3 | Accuracy = 4 | Satisfaction = 2", [4, 3, 4, 2]),
        ("Transparency and accuracy: 4\nPersuasiveness: 4\nSatisfaction: 4", None),
        (
            "| Persuasiveness | Transparency | Accuracy | Satisfaction |\n|-|-|-|-|\n| 4 | 3 | 4 | 4 |",
            None,
        ),
    ],
)
def test_four_fields(text: str, expected: list[float] | None) -> None:
    assert values(text) == expected


def test_the_form_that_was_asked_for_must_be_there() -> None:
    lines = "\n".join(f"{f}: 4" for f in FOUR)
    as_json = json.dumps(dict.fromkeys(FOUR, 4))
    assert values(lines, form="text") == values(as_json, form="json") == [4, 4, 4, 4]
    assert values(lines, form="json") is None
    assert values(as_json, form="text") is None
    assert values(as_json + "\n" + lines, form="text") == [4, 4, 4, 4]
    assert values(as_json + "\nAccuracy: 3/5", form="json") == [4, 4, 4, 4]


def test_lines_copied_from_the_prompt_are_no_answer() -> None:
    example = "The rating given to this earlier explanation: accuracy = 4"
    prompt = f"Put yourself in the place of a user.\n{example}\n" + "Another line of some length.\n" * 3
    assert values(example, ["accuracy"], prompt=prompt) is None
    assert values(f"{example}\naccuracy: 2", ["accuracy"], prompt=prompt) == [2]
    assert values('{"accuracy": 4}', ["accuracy"], prompt=prompt + '{"accuracy": 4}   as an example') == [4]


def test_a_name_of_two_fields_names_neither() -> None:
    both = {"clear": ["I like it"], "fitting": ["I like it"]}
    assert values("I like it: 4\nclear: 3", ["clear", "fitting"], aliases=both) is None
    assert values("fitting: 4\nclear: 3", ["clear", "fitting"], aliases=both) == [3, 4]


def test_a_statement_may_stand_for_its_aspect() -> None:
    statements = {"clear": ["I understand why this was recommended."], "fitting": ["It fits my taste"]}
    text = "1. I understand why this was recommended: 4\n2. It fits my taste: 2"
    assert values(text, ["clear", "fitting"], aliases=statements) == [4, 2]


def test_letters_that_only_look_alike_name_no_field() -> None:
    assert values("clarıty: 4", ["clarity"]) is None  # a dotless i, which a pattern takes for one with a dot


def test_negative_and_decimal_scales() -> None:
    assert values("clear: -2", ["clear"], (-3, 3, True)) == [-2]
    assert values("clear: −2", ["clear"], (-3, 3, True)) == [-2]
    assert values("clear - 2", ["clear"], (-3, 3, True)) is None  # minus, or a dash
    assert values("clear - 2", ["clear"], (0, 3, True)) == [2]
    assert values("clear: 2.25", ["clear"], (0, 3, False)) == [2.25]
    assert values("clear: 2,25", ["clear"], (0, 3, False)) is None


@pytest.mark.parametrize("reason", ["length", "max_tokens", "MAX_TOKENS", "content_filter", "SAFETY"])
def test_a_reply_that_did_not_end_by_itself_gives_nothing(reason: str) -> None:
    found = parsed(json.dumps(dict.fromkeys(FOUR, 4)), finish_reason=reason)
    assert found.status in (Status.TRUNCATED, Status.REFUSED)
    assert found.values is None


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("", "in thought, before it answered"),
        ("<think>clarity: 4 would", "in thought, before it answered"),
        ("clarity: 4 and", "before it ended"),
    ],
)
def test_a_limit_that_was_used_up_is_named(text: str, where: str) -> None:
    found = parsed(text, finish_reason="length")
    assert found.status is Status.TRUNCATED
    assert found.reason == f"the reply used up its limit {where}; raise max_tokens"


@pytest.mark.parametrize(("fields", "form"), [([], "auto"), (["a", "a"], "auto"), (["a"], "yaml")])
def test_errors_of_the_caller(fields: list[str], form: str) -> None:
    with pytest.raises(ValueError, match="must be"):
        parse_reply("4", fields, 1, 5, True, form=form)


def test_schema() -> None:
    schema = json_schema(numbers(FOUR, Scale(1, 5, True)))
    assert schema["required"] == FOUR == list(schema["properties"])
    assert schema["additionalProperties"] is False
    assert schema["properties"]["accuracy"] == {"type": "integer", "enum": [1, 2, 3, 4, 5]}
    assert json_schema(numbers(["a"], Scale(0, 1, False)))["properties"]["a"] == {
        "type": "number",
        "minimum": 0,
        "maximum": 1,
    }
    assert json_schema(numbers(["a"], Scale(0, 1000, True)))["properties"]["a"]["type"] == "integer"
    assert json_schema(numbers(["a"], Scale(0.5, 2.5, True)))["properties"]["a"]["enum"] == [1, 2]


def test_schema_with_reasons() -> None:
    schema = json_schema(numbers(["a", "b"], Scale(1, 5, True), reason=True))
    assert schema["required"] == ["a", "b"]
    one = schema["properties"]["a"]
    assert list(one["properties"]) == one["required"] == ["reason", "score"]  # models answer in this order
    assert one["properties"] == {
        "reason": {"type": "string"},
        "score": json_schema(numbers(["a"], Scale(1, 5, True)))["properties"]["a"],
    }
    assert one["additionalProperties"] is False


@pytest.mark.parametrize(
    ("clarity", "expected"),
    [
        ({"reason": "It has 2 parts; truth: 1.", "score": 4}, [4, 3]),
        ({"reason": "truth", "score": "4"}, [4, 3]),
        ({"score": 4, "reason": "I'd say 4/5."}, [4, 3]),
        ({"reason": "5"}, None),
        ({"reason": "Fine.", "score": None}, None),
        ({"reason": "Fine.", "score": 4, "rating": 5}, None),
        ({"reason": "Fine.", "score": [4]}, None),
        ({"reason": "Fine.", "score": True}, None),
        ("Fine. Score: 4", None),
        ("Fine.", None),
    ],
)
def test_a_reason_before_the_score(clarity: object, expected: list[float] | None) -> None:
    reply = {"clarity": clarity, "truth": {"reason": "clarity: 2, as said above.", "score": 3}}
    assert values(json.dumps(reply), ["clarity", "truth"], form="json") == expected


USABLE = [c for c in CASES if "values" in c]
OF_INTEGERS = [c for c in USABLE if "." not in str(c["values"])]


def read_again(case: dict[str, Any], text: str) -> list[float] | None:
    return values(text, case.get("fields", FOUR), case.get("scale", (1, 5, True)))


@pytest.mark.parametrize("case", USABLE, ids=lambda c: c["id"])
def test_less_of_a_usable_reply_gives_the_same_or_nothing(case: dict[str, Any]) -> None:
    text, allowed = case["reply"], (None, case["values"])
    if case in OF_INTEGERS:  # of a decimal, the beginning is a number too
        for end in range(len(text)):
            assert read_again(case, text[:end]) in allowed, text[:end]
    lines = text.split("\n")
    for at in range(len(lines)):
        left = "\n".join(lines[:at] + lines[at + 1 :])
        assert read_again(case, left) in allowed, left


@pytest.mark.parametrize("case", OF_INTEGERS, ids=lambda c: c["id"])
def test_another_digit_in_a_usable_reply_is_noticed_or_no_value(case: dict[str, Any]) -> None:
    text = case["reply"]
    for at, letter in enumerate(text):
        if letter.isdigit() and letter != "0":
            assert read_again(case, text[:at] + "99" + text[at + 1 :]) in (None, case["values"])


def test_a_score_said_to_be_final_wins() -> None:
    reply = "It reads well, resulting in a final score of 4 out of 5.\nGrammar: 3/5\nStyle: 5/5"
    assert parse_reply(reply, ["fluency"], 1, 5, True).values == {"fluency": 4}
    assert parse_reply(reply.replace("final ", ""), ["fluency"], 1, 5, True).values is None
