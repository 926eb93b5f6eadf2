from __future__ import annotations

import asyncio
import json
from collections import Counter
from typing import Any

import numpy as np
import pytest

from metaeval.base.errors import MetaevalError
from metaeval.base.records import Scale
from metaeval.judging.reading import with_evidence
from metaeval.llm.calls.client import RetryableError
from metaeval.llm.calls.request import Message, Reply, Request
from metaeval.llm.prompts.syntax import fenced
from metaeval.llm.providers import Connection
from metaeval.llm.providers.simulated import SimulatedClient, instructions, latent, settings_of
from metaeval.llm.replies.fields import Choice, Number, Text, json_schema
from metaeval.llm.replies.reader import read_reply

SCHEMA = {
    "type": "object",
    "properties": {
        "accuracy": {"type": "integer", "minimum": 1, "maximum": 7},
        "trust": {"type": "number", "minimum": 0, "maximum": 1},
        "verdict": {"enum": ["A", "B", "tie"]},
        "why": {"type": "string"},
    },
}


def ask(model: str, text: str = "Rate this text.", **more: Any) -> Reply:
    client = SimulatedClient(Connection("simulated", ""))
    return asyncio.run(client.complete(Request("simulated", model, (Message("user", text),), **more)))


def test_the_same_request_gets_the_same_reply() -> None:
    assert ask("a", schema=SCHEMA) == ask("a", schema=SCHEMA)
    many = {ask("noise=1", f"Rate text {i}.", schema=SCHEMA).text for i in range(20)}
    assert len(many) > 10
    assert len({ask("noise=1", schema=SCHEMA, replicate=i).text for i in range(20)}) > 10


def test_it_answers_the_schema() -> None:
    for i in range(100):
        reply = json.loads(ask("noise=2", f"Rate text {i}.", schema=SCHEMA).text)
        assert set(reply) == set(SCHEMA["properties"])
        assert reply["accuracy"] in range(1, 8)
        assert 0 <= reply["trust"] <= 1
        assert reply["verdict"] in {"A", "B", "tie"}
        assert reply["why"].startswith("It says ")


def test_it_answers_in_prose() -> None:
    text = ask("a", parameters={"simulate": {"values": 4, "min": 0, "max": 10}}).text
    sentence, _, numbers = text.partition("\nRatings: ")
    assert sentence.endswith(".")
    assert len(numbers.split()) == 4
    assert all(0 <= int(n) <= 10 for n in numbers.split())
    assert "\nright: " in ask("text=1", schema={"properties": {"right": {"type": "integer"}}}).text


def test_it_follows_the_text_that_it_is_shown() -> None:
    schema = {"properties": {"a": {"type": "integer", "minimum": 1, "maximum": 5}}}
    lengths = np.arange(10, 300, 3)
    texts = [" ".join(f"word{i}" for i in range(n // 6)) for n in lengths]
    scores = [json.loads(ask("m", f"Instruction.\n\n{t}", schema=schema).text)["a"] for t in texts]
    assert np.corrcoef(lengths, scores)[0, 1] > 0.5
    inverted = [json.loads(ask("weight=-1", f"I.\n\n{t}", schema=schema).text)["a"] for t in texts]
    assert np.corrcoef(lengths, inverted)[0, 1] < -0.5
    assert 0 < latent("") < latent("a short text") < latent("a longer text that says more " * 5) < 1


def test_shares_of_failures_are_kept() -> None:
    schema = {"properties": {"a": {"type": "integer", "minimum": 1, "maximum": 5}}}
    kinds: Counter[str] = Counter()
    for i in range(600):
        try:
            reply = ask(
                "refuse=0.2,unparsed=0.2,out_of_range=0.2,truncated=0.1,transport=0.1", f"{i}", schema=schema
            )
        except RetryableError:
            kinds["transport"] += 1
            continue
        if reply.refusal:
            kinds["refuse"] += 1
        elif reply.finish_reason == "length":
            kinds["truncated"] += 1
        elif not reply.text.startswith("{"):
            kinds["unparsed"] += 1
        else:
            kinds["ok" if json.loads(reply.text)["a"] <= 5 else "out_of_range"] += 1
    for kind, share in {"refuse": 120, "unparsed": 120, "out_of_range": 120, "truncated": 60}.items():
        assert abs(kinds[kind] - share) < 45, kinds
    assert abs(kinds["transport"] - 60) < 40
    assert kinds["ok"] > 60


def test_replies_say_that_they_are_simulated() -> None:
    reply = ask("lenient,bias=0.2")
    assert reply.model == "simulated-lenient,bias=0.2"
    assert json.loads(reply.raw)["simulated"] is True
    assert reply.prompt_tokens
    assert reply.completion_tokens


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("nois=1", "did you mean 'noise'"),
        ("noise=lots", "noise is 'lots'"),
        ("noise=-1", "not below 0"),
        ("refuse=1.5", "from 0 to 1"),
        ("refuse=0.7,unparsed=0.7", "more than 1"),
        ("a,b", "no setting 'b'"),
        ("bias=nan", "must be a number"),
        ("first_bias=-2", "from -1 to 1"),
        ("tie=-0.1", "not below 0"),
    ],
)
def test_wrong_settings(model: str, message: str) -> None:
    with pytest.raises(MetaevalError, match=message):
        settings_of(model)


PAIR_SCHEMA = {"properties": {"a": {"type": "integer", "enum": [0, 1, 2]}}}
SHORT, LONG = "word", " ".join(f"word{i}" for i in range(40))


def compare(model: str, first: str, second: str, number: int = 0, **more: Any) -> int:
    text = f"Compare {number}.\n<item>\nx\n</item>\n<one>\n{first}\n</one>\n<other>\n{second}\n</other>"
    parameters = {"simulate": {"pair": True, "values": 1, "min": 0, "max": 2}}
    reply = ask(model, text, parameters=parameters, **more).text
    return json.loads(reply)["a"] if more else int(reply.split()[-1])


def test_of_two_texts_it_prefers_the_one_that_it_would_rate_higher() -> None:
    for more in ({"schema": PAIR_SCHEMA}, {}):
        assert compare("noise=0", LONG, SHORT, **more) == 1
        assert compare("noise=0", SHORT, LONG, **more) == 2
        assert compare("noise=0", SHORT, SHORT, **more) == 0
        assert compare("noise=0,weight=-1", LONG, SHORT, **more) == 2
        assert compare("noise=0,weight=0", LONG, SHORT, **more) == 0
        assert compare("noise=0,weight=0,length_bias=0.1", SHORT, LONG, **more) == 2
        assert compare("noise=0,tie=1", SHORT, LONG, **more) == 0
    assert compare("noise=0,out_of_range=1", LONG, SHORT, schema=PAIR_SCHEMA) == 3


@pytest.mark.slow
@pytest.mark.parametrize(("bias", "expected"), [(0.0, 0.5), (0.3, 0.65), (1.0, 1.0), (-0.4, 0.3)])
def test_a_planted_preference_for_a_place_has_the_share_that_was_asked_for(
    bias: float, expected: float
) -> None:
    said = [compare(f"weight=0,tie=0,first_bias={bias}", SHORT, LONG, i) for i in range(600)]
    assert abs(np.mean([s == 1 for s in said]) - expected) < 3.3 * np.sqrt(0.25 / 600)


def test_a_planted_effect_of_length_is_that_much_a_doubling() -> None:
    schema = {"properties": {"a": {"type": "number", "minimum": 0, "maximum": 1}}}
    lengths = [60, 120, 240]
    scores = [
        json.loads(ask("weight=0,noise=0,length_bias=0.1", f"I.\n\n{'x' * n}", schema=schema).text)["a"]
        for n in lengths
    ]
    np.testing.assert_allclose(np.diff(scores), 0.1, atol=0.01)
    clean = json.loads(ask("weight=0,noise=0", f"I.\n\n{'x' * 999}", schema=schema).text)["a"]
    assert clean == 0.5


@pytest.mark.parametrize("weight", [1, 0])
def test_of_an_item_like_the_history_it_thinks_more(weight: int) -> None:
    lines = ["genre: horror; place: castle", "genre: horror; place: ship", "genre: war; place: castle"]
    history = "What is known:\n<history>\n{}\n</history>".format("\n".join(lines))
    client = SimulatedClient(Connection("simulated", ""))
    bare = Request("simulated", f"noise=0,weight={weight}", (), {"simulate": {"like": True}})

    def score(genre: str, place: str) -> int:
        item = f"<item>\ngenre: {genre}\nplace: {place}\n</item>"
        reply = asyncio.run(client.complete(bare.asking([("user", history), ("user", item)])))
        return int(reply.text.rpartition(": ")[2])

    scores = [score("horror", "castle"), score("war", "ship"), score("love", "sea")]
    assert scores == ([5, 1, 1] if weight else [3, 3, 3])


def test_of_two_lists_it_prefers_the_one_with_more_of_what_was_rated_highly() -> None:
    lines = [
        "genre: horror; rated 5",
        "genre: horror; rated 4",
        "genre: war; rated 1",
        "genre: love; rated 2",
    ]
    history = "<history>\n{}\n</history>".format("\n".join(lines))
    client = SimulatedClient(Connection("simulated", ""))

    def said(first: str, second: str, key: int = 0, *, forced: bool = True, bias: int = 0) -> str:
        lists = "\n".join(f"<list-{i}>\n{text}\n</list-{i}>" for i, text in enumerate((first, second)))
        request = Request(
            "simulated",
            f"noise=0,first_bias={bias}",
            (Message("user", history), Message("user", lists)),
            {"simulate": {"like": "lines", "pair": True, "forced": forced}},
            schema={"enum": ["A", "B"] if forced else ["TIE", "A", "B"]},
            replicate=key,
        )
        return str(json.loads(asyncio.run(client.complete(request)).text))

    good, bad = "1. genre: horror\n2. genre: war", "1. genre: love\n2. genre: war"
    assert (said(good, bad), said(bad, good)) == ("A", "B")
    assert said(good, bad, forced=False) == "A"
    turned = "1. genre: war\n2. genre: horror"
    assert (said(good, turned), said(turned, good)) == ("A", "B")
    sets = [text.replace("1.", "-").replace("2.", "-") for text in (good, turned)]
    assert {said(*sets, key) for key in range(20)} == {"A", "B"}
    assert said(*sets, forced=False) == "TIE"
    assert {said(bad, good, key, bias=1) for key in range(5)} == {"A"}
    assert {said(good, bad, key, bias=-1) for key in range(5)} == {"B"}


def test_evidence_of_rationales_is_quoted_or_made_up_on_demand() -> None:
    fields = [
        Choice("winner", {0: ("TIE",), 1: ("A",), 2: ("B",)}),
        Number("confidence", Scale(0, 1, integer=False)),
        Text("rationales", ("item-a", "item-b"), binding=False, many=True),
    ]
    found = []
    for form in ("json", "text"):
        for i in range(60):
            long = fenced(f"film {i} of a long and winding road to nowhere at all", "item-b")
            asked = f"{fenced('short', 'item-a')}\n{long}"
            told = {"simulate": instructions(fields, with_schema=form == "json", pair=True)}
            schema = json_schema(fields) if form == "json" else None
            text = ask("invent=0.3,noise=0", asked, parameters=told, schema=schema).text
            read = with_evidence(read_reply(text, fields, form=form), fields, asked)
            assert read.values is not None, (text, read.reason)
            assert read.values["winner"] == 2
            assert float(read.values["confidence"]) > 0.5
            found.append(bool(read.unfound))
    assert 0.15 < np.mean(found) < 0.45
