"""A judge of units of any kind: a list of fields, and what the model is told."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from metaeval.base.errors import SpecError
from metaeval.base.records import Scale, Status
from metaeval.evaluators.base import integer
from metaeval.judging.estimate import estimates
from metaeval.judging.prompts import Asks
from metaeval.judging.settings import JudgingOptions, judging
from metaeval.judging.unit_judge import Shown, UnitJudge
from metaeval.llm.replies.fields import Choice, Field, Number, Text
from tests.llm.server import Act, serving

PROMPT = """---
name: quiz
version: "1"
description: Whether a statement is true.
reply: [json, text]
placeholders:
  required: [statement, reply_form]
---
Is it true? Reply in {{ reply_form }} with answer, confidence and evidence, word for word.
{{ statement | fenced("statement") }}
"""


class Quiz:
    """Statements that are true or not."""

    name, keys, aspects = "quiz", ("pupil", "question"), {"answer": "It is true"}
    units = pd.DataFrame({"pupil": ["p1", "p1", "p2"], "question": ["q1", "q2", "q1"]})
    texts = ("Water boils at 100 degrees.", "", "The moon is made of green cheese, they say.")

    def __len__(self) -> int:
        return len(self.texts)


@dataclass(frozen=True, repr=False)
class Examiner(UnitJudge):
    prompt: str = "quiz.md"
    hints: int = integer(0, 0, 3)
    asks = Asks(sample={"statement": "A."}, needed=["statement"])

    def reply_fields(self, data: Quiz, aspects: Sequence[str]) -> list[Field]:
        del data
        answers = [Choice(a, {1: ("yes",), 0: ("no",)}) for a in aspects]
        confidence = Number("confidence", Scale(0, 1, integer=False))
        return [*answers, confidence, Text("evidence", ("statement",))]

    def shown(self, data: Quiz, aspects: Sequence[str]) -> Shown:
        texts = data.texts
        return Shown(own=lambda unit, _: {"statement": texts[unit]} if texts[unit] else Status.MISSING)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    (tmp_path / "quiz.md").write_text(PROMPT)


def reply(body: dict[str, Any], *, evidence: str = "") -> str:
    asked = body["messages"][0]["content"]
    water = "Water" in asked
    said = {
        "answer": "yes" if water else "no",
        "confidence": 0.9,
        "evidence": evidence or ("boils at 100" if water else "green cheese"),
    }
    return json.dumps(said) if "in json" in asked else "\n".join(f"{k}: {v}" for k, v in said.items())


@pytest.mark.parametrize("form", ["auto", "json", "text"])
def test_a_judge_of_another_kind_is_asked_and_read(form: str) -> None:
    with serving(lambda body, _: Act(text=reply(body))) as server, judging():
        judge = Examiner("openai/gpt-4o", reply=form, base_url=server.openai)
        table = judge.score(Quiz(), ["answer"])
    frame = table.frame
    assert frame["score"].tolist()[::2] == [1, 0]
    assert frame["status"].tolist() == ["ok", "missing", "ok"]
    assert list(frame.columns[:2]) == list(Quiz.keys)
    assert frame["tokens"].notna().tolist() == (frame["call"] != "").tolist() == [True, False, True]
    assert len(server.log) == 2
    asked = server.log[0].body.get("response_format")
    assert (asked is None) == (form != "json")
    (signature,) = table.signatures.values()
    assert signature["prompt"]["name"] == "quiz"
    assert signature["hints"] == 0
    assert signature["models"] == ["gpt-4o-2024-08-06"]


def test_invented_evidence_is_asked_for_again_and_then_counted() -> None:
    with serving(lambda body, _: Act(text=reply(body, evidence="boils at 99"))) as server, judging():
        frame = Examiner("openai/gpt-4o", attempts=2, base_url=server.openai).score(Quiz(), ["answer"]).frame
    assert frame["status"].tolist() == ["unparsed", "missing", "unparsed"]
    assert len(server.log) == 4


@pytest.mark.parametrize("form", ["auto", "json", "text"])
@pytest.mark.parametrize("model", ["x", "text=1", "refuse=1", "truncated=1"])
def test_the_simulated_model_answers_every_list_of_fields(form: str, model: str) -> None:
    with judging():
        statuses = Examiner(f"simulated/{model}", reply=form).score(Quiz(), ["answer"]).frame["status"]
    if model == "text=1" and form == "json":
        wanted = {"unparsed"}  # it was asked for JSON, and answers in text
    else:
        wanted = {"refuse=1": {"refused"}, "truncated=1": {"truncated"}}.get(model, {"ok"})
    assert set(statuses.drop(1)) == wanted


def test_what_it_would_take_is_told_before() -> None:
    quiz: Any = Quiz()
    judge = Examiner("openai/gpt-4o", base_url="http://127.0.0.1:1/v1")
    (found,) = estimates([judge], [quiz], ["answer"], JudgingOptions(store="replies.sqlite"))
    assert (found.requests, found.calls, found.basis) == (2, 2, "guess")
    assert "Water boils" in found.prompt


def test_the_spec_of_a_judge_builds_it_again() -> None:
    assert str(Examiner("simulated/x", temperature=1)) == "Examiner('simulated/x', temperature=1)"
    with pytest.raises(SpecError, match="Examiner: hints must be an integer from 0 to 3, not 4"):
        Examiner("simulated/x", hints=4)


def test_a_prompt_is_checked_for_any_kind(tmp_path: Path) -> None:
    def problems(prompt: str) -> list[str]:
        (tmp_path / "own.md").write_text(prompt)
        return [problem.message for problem in Examiner.asks.problems("own.md")]

    assert problems(PROMPT) == []
    (wrong,) = problems(
        PROMPT.replace("[statement, reply_form]", "[statement, reply_form, pupil]") + "{{ pupil }}"
    )
    assert "nothing fills the placeholder 'pupil'" in wrong
    (wrong,) = problems(PROMPT.replace(", reply_form]", "]").replace("{{ reply_form }}", "JSON"))
    assert "names two forms of reply" in wrong
