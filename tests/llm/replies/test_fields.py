"""Replies that are asked for choices, texts and numbers on several scales."""

from __future__ import annotations

import json
import unicodedata
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from metaeval.base.records import Scale, Status
from metaeval.judging.reading import as_compared, with_evidence
from metaeval.llm.prompts.syntax import fenced
from metaeval.llm.replies.fields import Choice, Number, Text, json_schema
from metaeval.llm.replies.reader import Parsed, read_reply

WINNER = Choice("winner", {"first": ("first", "A"), "second": ("second", "B"), "tie": ("tie", "neither")})
CONFIDENCE = Number("confidence", Scale(0, 1, integer=False))
RATIONALE = Text("rationale", aliases=("理由",))
EVIDENCE = Text("evidence", ("user", "item"))
DUEL = (WINNER, CONFIDENCE, RATIONALE, EVIDENCE)
USER = "Likes “slow” films — and\u00a0Japanese cinema;\nrated Ikiru 5 of 5."
ITEM = "After Life (1998): the dead choose one memory.\n<user>\nLoves car chases.\n</user>"
PROMPT = (
    "Which of the two items does the user prefer, and why do you think so?\n"
    f"{fenced(USER, 'user')}\n{fenced(ITEM, 'item')}"
)
SAID = {
    "winner": "first",
    "confidence": 0.8,
    "rationale": "The user rates films about memory highly.",
    "evidence": "Japanese cinema; rated Ikiru 5 of 5",
}


def as_text(values: dict[str, Any]) -> str:
    return "I weigh both items.\n\n" + "\n".join(f"{name}: {value}" for name, value in values.items())


FORMS = {"json": json.dumps, "text": as_text}


def read(text: str, fields: Any = DUEL, material: str = PROMPT, **more: Any) -> Parsed:
    """Read a reply as a judge does."""
    return with_evidence(read_reply(text, fields, **more), fields, material)


@pytest.mark.parametrize("form", FORMS)
def test_a_mixed_reply_is_read_in_either_form(form: str) -> None:
    for asked in ("auto", form):
        found = read(FORMS[form](SAID), form=asked)
        assert (found.values, found.status) == (SAID, Status.OK), found.reason
    (other,) = set(FORMS) - {form}
    assert read(FORMS[form](SAID), form=other).values is None


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("left_out", SAID)
def test_all_or_nothing(form: str, left_out: str) -> None:
    found = read(FORMS[form]({n: v for n, v in SAID.items() if n != left_out}))
    assert found.values is None
    assert repr(left_out) in found.reason


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"winner": "first or second"}, Status.UNPARSED),
        ({"winner": "third"}, Status.UNPARSED),
        ({"winner": ""}, Status.UNPARSED),
        ({"confidence": 1.5}, Status.OUT_OF_RANGE),
        ({"confidence": "0.8, no, 0.3"}, Status.UNPARSED),
        ({"confidence": "high"}, Status.UNPARSED),
        ({"rationale": " "}, Status.UNPARSED),
    ],
)
def test_values_that_are_none(form: str, change: dict[str, Any], status: Status) -> None:
    found = read(FORMS[form](SAID | change))
    assert (found.values, found.status) == (None, status)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("said", "value"),
    [("First", "first"), ("**B**", "second"), ('"neither".', "tie"), ("（A）", "first")],
)
def test_words_of_a_choice(form: str, said: str, value: str) -> None:
    found = read(FORMS[form](SAID | {"winner": said}))
    assert found.values == SAID | {"winner": value}, found.reason


@pytest.mark.parametrize(
    "reply",
    [
        as_text(SAID) + "\n\nOn reflection the second one is better.",
        as_text(SAID) + "\nwinner: second",
        json.dumps(SAID) + "\nActually, the second one.",
        json.dumps(SAID) + "\n" + json.dumps(SAID | {"winner": "second"}),
        json.dumps(SAID) + " was my answer yesterday.",
        json.dumps(SAID)[:-1] + ', "winner": "second"}',
        json.dumps(SAID)[:-20],
    ],
)
def test_what_is_contradicted_is_not_read(reply: str) -> None:
    assert read(reply).values is None


def test_an_envelope_and_a_reason_beside_leave_the_values() -> None:
    assert read(json.dumps({"result": SAID})).values == SAID
    assert read(json.dumps(SAID | {"reasoning": "Both are good films."})).values == SAID
    named = {("理由" if n == "rationale" else n): v for n, v in SAID.items()}
    assert read(json.dumps(named, ensure_ascii=False)).values == SAID


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "evidence",
    [
        'Likes "slow" films - and Japanese cinema',
        "“Likes “slow” films — and Japanese cinema”",
        "the dead  choose\u00a0one memory",
        "After Life （1998）",
        "After\u200b Life",
    ],
)
def test_evidence_is_found_whatever_its_blanks_and_quotes(form: str, evidence: str) -> None:
    found = read(FORMS[form](SAID | {"evidence": evidence}))
    assert found.status is Status.OK, found.reason
    assert found.invented == ()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "evidence",
    [
        'likes "slow" films',  # case counts
        "Likes slow films",
        "Japanese cinema … Ikiru",
        "Which of the two items does the user prefer",  # stands in another part of the prompt
        "...",
    ],
)
def test_invented_evidence_is_caught(form: str, evidence: str) -> None:
    reply = FORMS[form](SAID | {"evidence": evidence})
    found = read(reply)
    assert (found.values, found.status, found.invented) == (None, Status.UNPARSED, ("evidence",))
    lenient = (*DUEL[:3], Text("evidence", ("user", "item"), binding=False))
    kept = read(reply, lenient)
    assert (kept.status, kept.invented) == (Status.OK, ("evidence",))
    assert kept.values is not None


def test_a_part_within_another_is_no_part_of_its_own() -> None:
    """The text of an item cannot pass for the user's."""
    of_user = (WINNER, Text("evidence", ("user",)))
    reply = json.dumps({"winner": "first", "evidence": "Loves car chases."})
    assert read(reply, of_user).invented == ("evidence",)
    assert read(reply, (WINNER, Text("evidence", ("item",)))).status is Status.OK


def test_a_text_may_be_left_out_if_it_is_not_required() -> None:
    fields = (WINNER, Text("evidence", ("user",), required=False))
    for reply in ("winner: tie", '{"winner": "tie", "evidence": null}', '{"winner": "tie"}'):
        assert read(reply, fields).values == {"winner": "tie", "evidence": ""}


def test_words_of_a_choice_may_be_digits() -> None:
    fields = tuple(Choice(n, {"tie": ("0",), "first": ("1",), "second": ("2",)}) for n in ("clear", "true"))
    assert read('{"clear": 1, "true": "2"}', fields).values == {"clear": "first", "true": "second"}
    assert read("clear: 0\ntrue: 1", fields).values == {"clear": "tie", "true": "first"}
    assert read("clear: 0\ntrue: 3", fields).values is None
    assert read("clear: 0\ntrue: 1-2", fields).values is None
    assert json_schema(fields)["properties"]["true"] == {"type": "integer", "enum": [0, 1, 2]}


def test_values_of_a_choice_may_be_numbers() -> None:
    answer = Choice("answer", {1: ("yes", "true"), 0: ("no", "false")})
    assert read('{"answer": true}', [answer]).values == {"answer": 1}
    assert read("Answer: No.", [answer]).values == {"answer": 0}
    assert read("No idea.", [answer]).values is None


def test_the_schema_of_a_mixed_reply() -> None:
    schema = json_schema(DUEL)
    assert schema["required"] == list(SAID)
    assert schema["properties"]["winner"] == {"type": "string", "enum": ["first", "second", "tie"]}
    assert schema["properties"]["confidence"] == {"type": "number", "minimum": 0, "maximum": 1}
    assert schema["properties"]["evidence"] == {"type": "string"}


REASONED = (WINNER, CONFIDENCE, Text("rationales", ("user", "item"), binding=False, many=True))
FOUND = ["Japanese cinema; rated Ikiru 5 of 5", "the dead choose one memory"]


def reasoned(form: str, *said: str) -> str:
    """Return a reply with a rationale for each text of evidence."""
    head = {"winner": "first", "confidence": 0.8}
    if form == "json":
        return json.dumps(head | {"rationales": [{"reason": "It fits.", "evidence": e} for e in said]})
    return as_text(head) + "\nrationales:\n" + "\n".join(f"- It fits. | {e}" for e in said)


@pytest.mark.parametrize("form", FORMS)
def test_each_of_many_rationales_has_evidence_of_its_own(form: str) -> None:
    found = read(reasoned(form, *FOUND), REASONED)
    assert found.status is Status.OK, found.reason
    assert found.values == {"winner": "first", "confidence": 0.8, "rationales": "\n".join(FOUND)}
    assert (found.invented, found.unfound) == ((), ())
    planted = ["Japanese cinema … Ikiru", FOUND[0], "Loves musicals", "japanese cinema"]
    found = read(reasoned(form, *planted), REASONED)
    assert found.invented == ("rationales",)
    assert found.unfound == (planted[0], *planted[2:])
    assert (
        read(reasoned(form, *planted), (*REASONED[:2], Text("rationales", ("user",), many=True))).values
        is None
    )


@pytest.mark.parametrize(
    "said",
    [
        [],
        None,
        "",
        [{"reason": "It fits."}],
        [{"reason": "It fits.", "evidence": ""}],
        [{"reason": "It fits.", "evidence": FOUND[0]}, 3],
    ],
)
def test_a_reply_without_evidence_in_every_rationale_is_not_read(said: Any) -> None:
    reply = json.dumps({"winner": "first", "confidence": 0.8, "rationales": said})
    assert read(reply, REASONED).values is None


_LETTERS = st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "Zs")), min_size=1, max_size=30)


@given(words=st.lists(_LETTERS, min_size=1, max_size=6), data=st.data())
def test_planted_evidence_is_all_caught_and_what_stands_there_never_is(words: list[str], data: Any) -> None:
    """Pieces of the prompt, written another way, are evidence; with one letter more they are not."""
    text = " ".join(words)
    start = data.draw(st.integers(0, len(text) - 1))
    piece = text[start : data.draw(st.integers(start + 1, len(text)))]
    way = data.draw(st.sampled_from(["NFC", "NFD", "NFKC", "NFKD"]))
    told = fenced(text, "user")
    fields = [Text("rationales", ("user",), many=True, binding=False)]
    spaced = f" {unicodedata.normalize(way, piece).replace(' ', chr(10) + chr(160))} "

    def unfound(said: str) -> tuple[str, ...]:
        return read(reply_of(said), fields, told).unfound

    assume(any(map(str.isalnum, as_compared(piece))) and read(reply_of(spaced), fields, told).values)
    assert unfound(spaced) == ()
    assert len(unfound(f"{piece}\u0416\u0416\u0416")) == (0 if "\u0416\u0416\u0416" in text else 1)


def reply_of(said: str) -> str:
    return json.dumps({"rationales": [{"reason": "So.", "evidence": said}]})
