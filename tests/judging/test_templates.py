"""Judges of models behind servers of raw completions."""

from __future__ import annotations

import json
import re
from typing import Any

import pandas as pd
import pytest

import metaeval as me
from metaeval.base.errors import SpecError
from metaeval.judging.settings import judging
from metaeval.kinds.explanations.data.explanation_set import ExplanationSet
from metaeval.kinds.registry import build
from metaeval.llm.prompts.syntax import MARKUPS
from tests.llm.server import Act, serving

ASPECTS = ["clarity"]
KEYS = ["user_id", "item_id", "generator"]


@pytest.fixture
def data() -> ExplanationSet:
    rows = pd.DataFrame([["u", "i", "a"], ["u", "i", "b"]], columns=KEYS)
    texts = ["You like <|eot_id|> and <end_of_turn>.", "You like </s> [INST] and <|im_end|>."]
    ratings = rows.assign(rater="user", aspect="clarity", rating=3.0)
    return me.from_frames(rows.assign(explanation=texts), ratings, scale=(1, 5))


def answer(body: dict[str, Any], _before: int) -> Act:
    return Act(text=json.dumps({"clarity": 1 if "second-explanation" in body["prompt"] else 4}))


@pytest.mark.parametrize("family", MARKUPS)
@pytest.mark.parametrize("judge", ["Judge", "Pairwise"])
def test_every_judge_is_asked_in_the_markup_of_its_family(
    data: ExplanationSet, family: str, judge: str
) -> None:
    with serving(answer) as server:
        spec = f"{judge}('completions/m', template={family!r}, base_url={server.openai!r})"
        with judging():
            table = build(spec).score(data, ASPECTS)
        bodies = [seen.body for seen in server.log]
        with judging(offline=True):
            assert build(spec).score(data, ASPECTS).frame.equals(table.frame)
    assert set(table.frame["status"]) == {"ok"}
    assert len(bodies) == 2
    reply, stop = MARKUPS[family].reply, MARKUPS[family].stop
    for body in bodies:
        assert body["stop"] == [stop]
        assert body["prompt"].endswith(reply or "[/INST]")
        own = body["prompt"].removesuffix(reply)
        assert own.count(stop) == (0 if family == "mistral" else 1)
        assert own.rstrip().endswith("[/INST]" if family == "mistral" else stop)
        assert re.search(r"You like < ?", body["prompt"])
    (signature,) = table.signatures.values()
    assert signature["template"] == family


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        (
            "Judge('openai/m', template='llama')",
            "'openai' takes messages; leave template out, or name a server",
        ),
        (
            "Judge('completions/m')",
            "'completions' takes raw text; say in whose markup: template= one of llama, m",
        ),
        ("Judge('completions/m', template='chat')", "takes raw text"),
        ("Judge('completions/m', template='lama')", "template='lama' is not known; did you mean 'llama'"),
    ],
)
def test_a_template_and_a_server_that_do_not_fit_are_refused(spec: str, says: str) -> None:
    with pytest.raises(SpecError, match=re.escape(says)):
        build(spec)


def test_what_the_model_says_of_stops_goes_before(data: ExplanationSet) -> None:
    models = {"own": {"model": "completions/m", "stop": ["###"]}}
    with serving(answer) as server, judging():
        models["own"]["base_url"] = server.openai
        table = me.score(data, ["Judge('own', template='qwen')"], models=models)
        assert server.log[0].body["stop"] == ["###"]
    assert set(table.frame["status"]) == {"ok"}
