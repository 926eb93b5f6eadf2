"""A choice is read with its reason beside it, unless the reply leaves open which one it means."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from metaeval.llm.replies.fields import Choice, Given
from tests.llm.replies.reading import read_choice

CASES: dict[str, Any] = YAML(typ="safe").load(Path(__file__).with_name("choices.yaml"))
FIELDS = {
    "letters": Choice("choice", {"first": ["A"], "second": ["B"], "tie": ["C"]}),
    "outputs": Choice("choice", {1: ["Output (a)"], 2: ["Output (b)"]}),
    "numbers": Choice(
        "choice", {"first": ["Response 1", "1"], "second": ["Response 2", "2"], "tie": ["tie"]}
    ),
    "words": Choice("winner", {"first": ["first"], "second": ["second"], "tie": ["tie"]}),
    "slates": Choice("verdict", {"first": ["A", "slate A"], "second": ["B", "slate B"]}),
    "answers": Choice("answer", {1: ("yes", "true"), 0: ("no", "false")}),
}
LETTERS = FIELDS["letters"]


def read(text: str, field: Choice = LETTERS) -> Given | None:
    return read_choice(text, field)


@pytest.mark.parametrize(("field", "value", "reply"), CASES["clear"])
def test_a_choice_is_read_with_its_reason(field: str, value: object, reply: str) -> None:
    assert read(reply, FIELDS[field]) == value


@pytest.mark.parametrize(("field", "reply"), CASES["unclear"])
def test_a_reply_that_leaves_its_choice_open_is_not_read(field: str, reply: str) -> None:
    assert read(reply, FIELDS[field]) is None


STATED = (
    "Choice: {}",
    "My choice is {}.",
    "I choose {} because it has more detail.",
    "{} is better.",
    "Therefore, {} is the better response.",
    "Final verdict: [[{}]]",
    "The winner is {}.",
)
REASON = "Reason:\n1. Response 2 is clearer than Response 1.\n2. The first is longer. A user may like both."
LETTER = st.sampled_from("ABC")


@given(st.sampled_from(STATED), st.sampled_from(STATED), LETTER, LETTER, st.booleans())
def test_two_statements_agree_or_give_nothing(first: str, second: str, a: str, b: str, apart: bool) -> None:
    text = "\n".join([first.format(a), *([REASON] if apart else []), second.format(b)])
    assert read(text) == ({"A": "first", "B": "second", "C": "tie"}[a] if a == b else None), text


def test_a_word_that_compares_nothing_is_a_choice_wherever_it_stands() -> None:
    label = Choice("label", {1: ["relevant"], 0: ["irrelevant"]})
    assert read("Label: relevant. The text has the answer.", label) == 1
    assert read("Label: relevant\nThe passage is irrelevant to most of the query.", label) is None


def agreeing(verdicts: pd.DataFrame) -> int:
    """Count the verdicts that the same pair in the other order does not contradict."""
    winner = verdicts["first"].where(verdicts["choice"] == "first", verdicts["second"])
    pair = [" ".join(sorted(p)) for p in zip(verdicts["first"], verdicts["second"], strict=True)]
    return int((winner.groupby([verdicts["question"], pair]).transform("nunique") == 1).sum())


def test_published_verdicts_of_four_judges_are_read_from_their_replies(real_data: Path) -> None:
    verdicts = pd.read_csv(real_data / "position_bias" / "verdicts.csv")
    verdicts["choice"] = [read(reply) for reply in verdicts["reply"]]
    assert verdicts["choice"].isin(["first", "second"]).all()
    # The source lost two replies, which begin with "**Choice**: A" and with two blanks in "Choice:  B".
    kept = verdicts[~verdicts["reply"].str.startswith(("**Choice**:", "Choice:  "))]
    counts = {judge: [agreeing(r) for _, r in of.groupby("repeat")] for judge, of in kept.groupby("judge")}
    assert counts == {
        "claude-3-haiku-20240307": [26, 22, 32],
        "gpt-4-0613": [122, 118, 122],
        "gpt-3.5-turbo-1106": [110, 110, 112],
        "gemini-pro": [83, 97, 90],
    }
    assert [len(r) for _, r in kept[kept["judge"] == "gemini-pro"].groupby("repeat")] == [143, 143, 144]


def test_published_winners_are_read_from_replies_in_sentences(real_data: Path) -> None:
    """Where a reply and the released winner differ, the reply was read by a person."""
    verdicts = pd.read_csv(real_data / "llmbar" / "verdicts.csv", keep_default_na=False)
    of_reply = {reply: read(reply, FIELDS["outputs"]) for reply in set(verdicts["completion"])}
    choice = verdicts["completion"].map(of_reply).astype(float)
    winner = pd.to_numeric(verdicts["winner"])
    shown = winner.where(~verdicts["swapped"], 3 - winner)
    differs = choice.notna() & winner.notna() & (choice != shown)
    assert (choice.isna() & winner.notna()).sum() < 0.001 * len(verdicts)
    assert set(verdicts["judge"][differs]) == {"PaLM2"}  # released is the other one
    said = verdicts["completion"][differs].str.extract(r"Output \((a|b)\) is better")[0]
    assert choice[differs].tolist() == said.map({"a": 1.0, "b": 2.0}).tolist()


FRAGMENTS = (
    "A ", "A is ", "[[A]] ", "(((", '"', "*", " ", "so A ", "I change my my my to ", "A is the the ", "\n1. ",
    "the response ", "choice is ", "A, ", "Choice: A ( ", "better option is A ", "not choose ",
    "A is better. ", "A.",
)  # fmt: skip


def seconds(text: str) -> float:
    best = float("inf")
    for _ in range(3):
        start = time.process_time()
        read(text)
        best = min(best, time.process_time() - start)
    return best


@pytest.mark.parametrize("fragment", FRAGMENTS)
def test_time_grows_with_the_length_of_a_reply(fragment: str) -> None:
    short, long = (seconds(("Choice: A\n" + fragment * n)[:n]) for n in (6_000, 24_000))
    assert long < 0.05 or long < 9 * short
