"""Scores that are made of more than one number: samples of a reply, and the expectation of a rating."""

from __future__ import annotations

import json
from collections import Counter
from math import log
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import metaeval as me
from metaeval.base.errors import MetaevalError, SpecError, StoppedError
from metaeval.base.records import ScoreTable
from metaeval.cli import main
from metaeval.judging.cost import calls_in, costs_of, lost_calls, with_attempts
from metaeval.judging.settings import judging
from metaeval.kinds.registry import build
from metaeval.llm.calls.limits import Limits
from metaeval.llm.store.replies import Store
from tests.llm.dialects import no_logprobs, reasoning
from tests.llm.server import PROSE, Act, Server, error, serving
from tests.study.test_report import payload_of
from tests.tiny import write_study

ONE = "prompt='single-aspect', expected=True, "
BAD = error(400, "invalid_prompt")
FIVE = "samples=5, temperature=1, "
ODDS = {"4": 0.5, "2": 0.25, "1": 0.25}


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    monkeypatch.setenv("DASHSCOPE_API_KEY", "sk-test")


def told(body: dict[str, Any], odds: dict[str, float] = ODDS) -> Act:
    """Answer with a JSON object for the aspect asked for, as OpenAI tells its tokens."""
    messages = body["messages"] if "messages" in body else body["input"]["messages"]
    name = next(a for a in ("clear", "fitting") if f'"{a}"' in messages[0]["content"])
    head, tail = f'{{"{name}": ', "}"
    beside = [{"token": token, "logprob": log(share)} for token, share in odds.items()]
    content = [
        {"token": head, "logprob": 0.0, "top_logprobs": []},
        {"token": "4", "logprob": log(odds["4"]), "top_logprobs": beside},
        {"token": tail, "logprob": 0.0, "top_logprobs": []},
    ]
    asked = body.get("parameters", body)
    return Act(text=f"{head}4{tail}", logprobs={"content": content} if asked.get("logprobs") else None)


def score(server: Server, arguments: str, provider: str = "openai", **options: Any) -> ScoreTable:
    url = server.dashscope if provider == "dashscope" else server.openai
    with judging(**{"limits": Limits(retries=0), **options}):
        return me.score(me.load("tiny"), [f"Judge('{provider}/m', {arguments}base_url='{url}')"])


def without(body: dict[str, Any], _before: int) -> Act:
    """Ignore that probabilities were asked for."""
    return told(
        {**body, "logprobs": None, "parameters": {}} if "input" in body else {**body, "logprobs": None}
    )


OFTEN = f"{ONE}samples=6, temperature=1, "
"""36 calls about six texts."""


@pytest.mark.parametrize("provider", ["openai", "dashscope"])
@pytest.mark.parametrize("most", [1, 7, 20])
def test_a_server_that_ignores_probabilities_is_not_paid_for_all(
    tiny: Path, provider: str, most: int
) -> None:
    del tiny
    options = {"limits": Limits(stop_unread=most, concurrency=32)}
    with serving(without) as server:
        with pytest.raises(StoppedError, match="expected=True needs") as caught:
            score(server, OFTEN, provider, **options)
        assert "the server sends no probabilities of the reply's tokens" in str(caught.value)
        assert f"none of the first {most} replies" in str(caught.value)
        assert len(server.log) == most
        server.behave = lambda body, _: told(body)
        score(server, OFTEN, provider, **options)
        assert len(server.log) == 36  # what was weighed, or could not be, is not asked for again


def test_who_wants_unweighed_replies_gets_them_once_each(tiny: Path) -> None:
    del tiny
    with serving(without) as server:
        frame = score(server, OFTEN, limits=Limits(stop_unread=0)).frame
        assert set(frame["status"]) == {"unweighed"}
        assert len(server.log) == 36


def test_one_reply_with_probabilities_ends_the_trial(tiny: Path) -> None:
    del tiny

    def behave(body: dict[str, Any], before: int) -> Act:
        return told(body) if len(server.log) == 18 else without(body, before)

    with serving(behave) as server:
        score(server, OFTEN, limits=Limits(concurrency=1))
    assert len(server.log) == 36


@pytest.mark.parametrize(("provider", "most"), [("openai", 20), ("xai", 8), ("dashscope", 5)])
def test_a_score_is_the_expectation_and_replays(
    tiny: Path, provider: str, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    del tiny
    monkeypatch.setenv("XAI_API_KEY", "sk-test")
    with serving(lambda body, _: told(body)) as server:
        frame = score(server, ONE, provider).frame
        asked = len(server.log)
        again = score(server, ONE, provider, offline=True).frame
        plain = score(server, "prompt='single-aspect', ", provider).frame
    assert frame["score"].tolist() == [pytest.approx(2.75)] * 36
    assert frame["confidence"].between(0, 1).all()  # of the score, rounded
    assert "confidence" not in plain
    pd.testing.assert_frame_equal(frame, again)
    sent = server.log[0].body.get("parameters", server.log[0].body)
    assert (sent["logprobs"], sent["top_logprobs"]) == (True, most)
    # Another key: a reply without probabilities is no reply to this.
    assert plain["score"].tolist() == [4] * 36
    assert len(server.log) == 2 * asked


def test_the_model_of_a_study_may_ask_for_fewer(tiny: Path) -> None:
    del tiny
    with serving(lambda body, _: told(body)) as server, judging():
        models = {"few": {"model": "openai/m", "base_url": server.openai, "top_logprobs": 3}}
        table = me.score(me.load("tiny"), [f"Judge('few', {ONE[:-2]})"], models=models)
    assert {s.body["top_logprobs"] for s in server.log} == {3}
    assert table.frame["score"].tolist() == [pytest.approx(2.75)] * 36


def test_a_server_without_probabilities_gives_no_scores(tiny: Path, caplog: pytest.LogCaptureFixture) -> None:
    del tiny

    def behave(body: dict[str, Any], _before: int) -> Act:
        return told({k: v for k, v in body.items() if k != "logprobs"})

    with serving(behave) as server:
        frame = score(server, ONE).frame
    assert set(frame["status"]) == {"unweighed"}
    assert frame["score"].isna().all()
    assert max(Counter(json.dumps(s.body) for s in server.log).values()) == 1  # asking again brings none
    assert "36 replies to Judge" in caplog.text
    assert "the server sends no probabilities" in caplog.text


def test_a_server_that_refuses_probabilities_ends_the_run(tiny: Path) -> None:
    del tiny
    with serving(no_logprobs) as server, pytest.raises(MetaevalError, match="leave expected out"):
        score(server, ONE)
    assert len(server.log) == 1


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ("expected=True", "asks for all aspects at once; take one .* such as 'single-aspect'"),
        ("expected=1", "must be True or False"),
        ("samples=5", "temperature is 0; write one above 0, such as temperature=1"),
        ("samples=0, temperature=1", "samples must be an integer of at least 1"),
        ("samples=2.5, temperature=1", "samples must be an integer"),
    ],
)
def test_what_cannot_be_is_said_before_anything_is_asked(arguments: str, why: str) -> None:
    with pytest.raises(SpecError, match=why):
        build(f"Judge('openai/m', {arguments})")


def varied(body: dict[str, Any], before: int) -> Act:
    """Another rating each time the same is asked."""
    del body
    return Act(text=json.dumps({"clear": 1 + before % 5, "fitting": 3}))


def test_a_score_is_the_mean_of_samples(tiny: Path) -> None:
    del tiny
    with serving(varied) as server, judging() as settings:
        one = me.score(me.load("tiny"), [f"Judge('openai/m', temperature=1, base_url='{server.openai}')"])
        asked = len(server.log)
        assert one.frame["score"].tolist()[::18] == [1, 3]
        table = me.score(me.load("tiny"), [f"Judge('openai/m', {FIVE}base_url='{server.openai}')"])
        # Number 0 is what a judge without samples asks: its reply is found.
        assert len(server.log) == 5 * asked
        keys = calls_in([table.frame])
        assert len(keys) == 5 * asked
        assert set(calls_in([one.frame])) < set(keys)
        assert len(set(with_attempts(settings.store, keys))) == len(keys)
    frame = table.frame
    assert set(frame.loc[frame["aspect"] == "clear", "score"]) == {3.0}
    assert set(frame["status"]) == {"ok"}
    assert frame["tokens"].to_numpy() == pytest.approx([5 * 110 / 2 / 6] * 36)  # six units share a text
    (signature,) = table.signatures.values()
    assert signature["samples"] == 5
    assert costs_of(table)["tokens_per_text"].tolist() == pytest.approx([550 / 6])


@pytest.mark.parametrize(("unread", "status"), [(2, "ok"), (3, "unparsed")])
def test_half_of_the_samples_must_be_read(tiny: Path, unread: int, status: str) -> None:
    del tiny

    def behave(body: dict[str, Any], before: int) -> Act:
        return PROSE if before < unread else varied(body, before)

    with serving(behave) as server:
        frame = score(server, f"{FIVE}attempts=1, ").frame
    clear = frame[frame["aspect"] == "clear"]
    assert set(clear["status"]) == {status}
    if status == "ok":
        assert set(clear["score"]) == {4.0}  # of 3, 4 and 5


def test_a_lost_sample_is_asked_for_again(tiny: Path) -> None:
    del tiny
    down = True

    def behave(body: dict[str, Any], before: int) -> Act:
        return BAD if down and before >= 4 else varied(body, before)

    with serving(behave) as server:
        table = score(server, FIVE)
        assert set(table.frame["status"]) == {"transport"}
        with judging() as settings:
            place = settings.store.database
        (lost,) = lost_calls({"judge": table}, place)
        prompts, asked = len({json.dumps(s.body) for s in server.log}), len(server.log)
        assert lost.lost == prompts
        down = False
        frame = score(server, FIVE).frame
    assert set(frame["status"]) == {"ok"}
    assert len(server.log) == asked + prompts


@pytest.mark.slow
def test_each_sample_of_a_run_is_shown_and_exported(tiny: Path) -> None:
    judge = "Judge('simulated/noise=0.5', samples=3, temperature=1)"
    study = write_study(tiny.parent / "s.yaml", evaluators=f'{{j: "{judge}"}}', bootstrap="null")
    assert main(["run", str(study), "--out", "out"]) == 0
    keys = calls_in([pd.read_parquet("out/scores.parquet")])
    calls = payload_of(Path("out/report.html"))["calls"]
    assert sorted(r["key"] for r in calls["replies"] if "key" in r) == keys
    for place in {p for row in calls["of"][0] for p in row}:
        samples = calls["replies"][place]["samples"]
        assert len({calls["replies"][i]["key"] for i in samples}) == 3
    assert main(["run", str(study), "--out", "out", "--offline"]) == 0
    with Store(create=False) as store:
        assert len(store.get_many(keys)) == len(keys)


@pytest.mark.slow
def test_tokens_of_thought_are_in_the_costs(tiny: Path) -> None:
    rated = json.dumps({"clear": 3, "fitting": 2})

    def behave(body: dict[str, Any], before: int) -> Act:
        act = reasoning(body, before)
        return act if act.kind == "status" else Act(text=rated, usage=act.usage)

    with serving(behave) as server:
        judge = f"Judge('openai/o5', base_url='{server.openai}')"
        names = f'{{thinks: "{judge}", plain: "Judge(\'simulated/x\')"}}'
        study = write_study(tiny.parent / "s.yaml", evaluators=names, bootstrap="null")
        assert main(["run", str(study), "--out", "out"]) == 0
    costs = pd.read_csv("out/cost.csv").set_index("evaluator")
    assert costs.loc["thinks", "reasoning_tokens_per_text"] == 90 / 6  # six units share a text
    assert costs.loc["thinks", "tokens_per_text"] == pytest.approx(200 / 6)
    assert costs["reasoning_tokens_per_text"].isna().tolist() == [False, True]
    assert "reasoning tokens per unit" in Path("out/cost.md").read_text()
    shown = {c["name"]: c["values"] for c in payload_of(Path("out/report.html"))["costs"]}
    assert shown["reasoning_tokens_per_text"] == [15, None]
