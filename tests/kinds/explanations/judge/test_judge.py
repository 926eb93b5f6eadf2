"""The judge, against a real server on the loopback address and through the real SDK."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import metaeval as me
from metaeval.base.errors import MetaevalError
from metaeval.base.records import Kind
from metaeval.judging.settings import judging
from metaeval.kinds.explanations.judge.judge import choose_examples
from metaeval.kinds.registry import build
from metaeval.llm.calls.limits import Budget, Limits
from metaeval.llm.calls.price import Prices
from tests.llm import server as acts
from tests.llm.server import Act, Server, serving

KEY = "sk-test-0123456789abcdefghij"
PRICES = Prices({"openai/gpt-4o": {"input": 2.5, "output": 10.0}})
ASPECTS = ("persuasiveness", "transparency", "accuracy", "satisfaction")


def ratings_of(body: dict[str, Any]) -> list[int]:
    """Return four ratings that depend on the prompt alone."""
    digest = hashlib.sha256(json.dumps(body["messages"]).encode()).digest()
    return [1 + b % 5 for b in digest[:4]]


def answer(body: dict[str, Any], _before: int) -> Act:
    return Act(text=json.dumps(dict(zip(ASPECTS, ratings_of(body), strict=True))))


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


@pytest.fixture(scope="module")
def small() -> me.ExplanationSet:
    """The units of three users of the sample."""
    data = me.load(Path(__file__).parents[4] / "data" / "sample")
    users = sorted(data.explanations["user_id"].unique())[:3]
    explanations, ratings = (
        f[f["user_id"].isin(users)].reset_index(drop=True) for f in (data.explanations, data.ratings)
    )
    # Equal prompts are asked once; here each unit has its own text, so that calls can be counted.
    texts = [f"{text} ({i})" for i, text in enumerate(explanations["explanation"])]
    return dataclasses.replace(data, explanations=explanations.assign(explanation=texts), ratings=ratings)


def spec(server: Server, *more: str, model: str = "openai/gpt-4o") -> str:
    return f"Judge({', '.join([repr(model), *more, f'base_url={server.openai!r}'])})"


def test_scores_are_what_the_model_said(small: me.ExplanationSet) -> None:
    with serving(answer) as server, judging(prices=PRICES):
        table = me.score(small, {"judge": spec(server)})
    frame = table.frame
    assert (frame["status"] == "ok").all()
    assert len(frame) == len(small) * 4
    assert len(server.log) == len(small)
    asked = {s.body["messages"][0]["content"]: ratings_of(s.body) for s in server.log}
    for row in small.explanations.to_dict("records"):
        (prompt,) = [p for p in asked if row["explanation"] in p.split("## The explanation to judge")[1]][:1]
        unit = frame[(frame[list(small.keys)] == [row[k] for k in small.keys]).all(axis=1)]
        if sum(row["explanation"] in p.split("## The explanation to judge")[1] for p in asked) == 1:
            assert unit.set_index("aspect").loc[list(ASPECTS), "score"].tolist() == asked[prompt]
    assert table.kinds == {"judge": Kind.JUDGE}
    assert table.signatures["judge"]["models"] == ["gpt-4o-2024-08-06"]
    assert table.signatures["judge"]["fingerprints"] == ["fp_1"]
    assert frame["tokens"].sum() == pytest.approx(110 * len(small))
    assert frame["usd"].sum() == pytest.approx(len(small) * (100 * 2.5 + 10 * 10) / 1e6)


def test_nothing_is_asked_twice_and_every_setting_asks_anew(small: me.ExplanationSet, tmp_path: Path) -> None:
    own = tmp_path / "own.md"
    shipped = Path(__file__).parents[4] / "prompts" / "multi-aspect.md"
    own.write_text(shipped.read_text(encoding="utf-8").replace("Put yourself", "Imagine yourself"))
    with serving(answer) as server:
        first = me.score(small, {"j": spec(server)}).frame
        n = len(server.log)
        again = me.score(small, {"j": spec(server)}).frame
        assert len(server.log) == n == len(small)
        assert again.equals(first)
        for change in ("temperature=0.5", "replicate=1", f"prompt={str(own)!r}", "reply='json'"):
            before = len(server.log)
            me.score(small, {"j": spec(server, change)})
            assert len(server.log) == before + n, change
        before = len(server.log)
        me.score(small, {"j": spec(server, model="openai/gpt-4o-mini")})
        assert len(server.log) == before + n
        me.score(small, {"j": spec(server, "attempts=1")})  # says nothing to the model
        assert len(server.log) == before + n


def test_examples_and_blank_texts_are_never_asked_about(small: me.ExplanationSet) -> None:
    key = choose_examples(small, ASPECTS, "personalized", 0).of_unit
    blank = next(i for i, unit in enumerate(small.units.itertuples(index=False, name=None)) if unit in key)
    texts = small.explanations["explanation"].where(small.explanations.index != blank, "")
    data = dataclasses.replace(small, explanations=small.explanations.assign(explanation=texts))
    with serving(answer) as server:
        frame = me.score(data, {"j": spec(server, "examples='personalized'", "profile=True")}).frame
    example = frame["status"] == "example"
    assert 0 < example.sum() < len(frame)
    assert (frame["status"] == "missing").sum() == 4
    assert len(server.log) == (frame["status"] == "ok").sum() / 4
    assert frame.loc[example, ["score", "usd"]].isna().all().all()
    prompt = server.log[0].body["messages"][0]["content"]
    assert "An earlier case" in prompt
    assert "About you" in prompt


OUTCOMES = {
    "plain": (acts.ANSWER, "ok"),
    "slow down": (acts.error(429, "rate_limit_exceeded", retry_after="0.05"), "ok"),
    "internal": (acts.error(500, "server_error"), "ok"),
    "overloaded": (acts.error(503, "overloaded"), "ok"),
    "cut": (acts.CUT, "ok"),
    "dropped": (acts.DROP, "ok"),
    "no JSON": (acts.INVALID_JSON, "ok"),
    "always 500": (acts.error(500, "server_error"), "transport"),
    "always cut": (acts.CUT, "transport"),
    "hangs": (acts.HANG, "transport"),
    "empty": (acts.EMPTY, "unparsed"),
    "length": (acts.LENGTH, "truncated"),
    "prose": (acts.PROSE, "unparsed"),
    "refused": (acts.REFUSED, "refused"),
    "filtered": (acts.FILTERED, "refused"),
    "filter error": (acts.error(400, "content_filter"), "refused"),
    "six": (
        Act(text='{"persuasiveness": 6, "transparency": 1, "accuracy": 1, "satisfaction": 1}'),
        "out_of_range",
    ),
    "three of four": (Act(text='{"persuasiveness": 5, "transparency": 1, "accuracy": 1}'), "unparsed"),
}


def test_every_way_to_fail_is_named_and_counted(small: me.ExplanationSet) -> None:
    """What the server did with each unit, by the words of its text, against the status of its scores."""
    names = list(OUTCOMES)
    # A model that fails is asked one request at a time, with growing pauses: such failures come once.
    sent = [name for name, (act, _) in OUTCOMES.items() if act.kind == "answer"]
    some = [*names, *sent * 5]
    texts = [f"An explanation that is number {i}: {name}." for i, name in enumerate(some)]
    explanations = small.explanations.head(len(some)).assign(explanation=texts)
    data = dataclasses.replace(small, explanations=explanations)

    def behave(body: dict[str, Any], before: int) -> Act:
        text = body["messages"][0]["content"]
        (name,) = [n for n in names if f": {n}." in text]
        act, status = OUTCOMES[name]
        passes = status == "ok" and (before > 0 or act is acts.ANSWER)
        return answer(body, before) if passes else act

    limits = Limits(concurrency=16, reply_seconds=0.4, call_seconds=8, retries=1)
    with serving(behave) as server, judging(limits=limits):
        frame = me.score(data, {"j": spec(server)}).frame
    by_unit = frame.merge(data.explanations, on=list(data.keys))
    for name, (_, status) in OUTCOMES.items():
        found = set(by_unit.loc[by_unit["explanation"].str.endswith(f": {name}."), "status"])
        assert found == {status}, name
    assert (frame["score"].notna() == (frame["status"] == "ok")).all()
    times = Counter(s.body["messages"][0]["content"] for s in server.log)
    attempts = {"unparsed": 3, "truncated": 3, "refused": 3, "out_of_range": 3, "transport": 2}
    for name, (act, status) in OUTCOMES.items():
        expected = 1 if act is acts.ANSWER else 2 if status == "ok" else attempts[status]
        assert {n for text, n in times.items() if f": {name}." in text} == {expected}, name


def test_a_failed_transport_is_asked_again_later_a_refusal_is_not(small: me.ExplanationSet) -> None:
    broken = {"now": True}

    def behave(body: dict[str, Any], before: int) -> Act:
        some = len(body["messages"][0]["content"]) % 3 == 0
        return acts.error(500, "server_error") if some and broken["now"] else answer(body, before)

    limits = Limits(retries=0, patience_seconds=0.5)
    with serving(behave) as server, judging(limits=limits):
        assert set(me.score(small, {"j": spec(server)}).frame["status"]) == {"transport", "ok"}
        broken["now"] = False
        assert set(me.score(small, {"j": spec(server)}).frame["status"]) == {"ok"}
    with serving(acts.always(acts.REFUSED)) as server, judging(limits=Limits(stop_unread=0)):
        assert set(me.score(small, {"j": spec(server)}).frame["status"]) == {"refused"}
        n = len(server.log)
        assert set(me.score(small, {"j": spec(server)}).frame["status"]) == {"refused"}
        assert len(server.log) == n == 3 * len(small)


def test_a_budget_is_that_of_all_judges_together(small: me.ExplanationSet) -> None:
    n = len(small)
    with serving(answer) as server, judging(budget=Budget(max_calls=n + 5)):
        names = {"a": spec(server), "b": spec(server, "replicate=1")}
        frame = me.score(small, names).frame
    assert len(server.log) == n + 5
    assert Counter(frame["status"]) == {"ok": 4 * (n + 5), "budget": 4 * (n - 5)}
    with serving(answer) as server, judging(budget=Budget(max_usd=0.0), prices=PRICES):
        assert set(me.score(small, {"a": spec(server)}).frame["status"]) == {"budget"}
        assert not server.log


def test_offline_takes_all_from_the_store_and_says_what_is_not_there(
    small: me.ExplanationSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(answer) as server:
        online = me.score(small, {"j": spec(server)}).frame
    monkeypatch.delenv("OPENAI_API_KEY")
    with judging(offline=True):
        assert me.score(small, {"j": spec(server)}).frame.equals(online)
        with pytest.raises(MetaevalError, match=str(len(small))):
            me.score(small, {"j": spec(server, "replicate=7")})


def test_a_mean_of_judges_asks_each_once(small: me.ExplanationSet) -> None:
    with serving(answer) as server:
        names = {
            "a": spec(server),
            "b": spec(server, "replicate=1"),
            "m": "Mean(a, b)",
            "v": "Majority(a, b)",
        }
        frame = me.score(small, names).frame
    assert len(server.log) == 2 * len(small)
    wide = frame.pivot_table(index=[*small.keys, "aspect"], columns="evaluator", values="score")
    np.testing.assert_allclose(wide["m"], (wide["a"] + wide["b"]) / 2)


def test_one_denied_key_stops_the_run_in_the_providers_words(small: me.ExplanationSet) -> None:
    denied = acts.error(401, "invalid_api_key", f"Incorrect API key provided: {KEY}")
    with (
        serving(acts.always(denied)) as server,
        pytest.raises(MetaevalError, match="Incorrect API key") as caught,
    ):
        me.score(small, {"j": spec(server)})
    assert caught.value.exit_code == 3
    assert len(server.log) < len(small)
    assert KEY not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Judge('gpt-4o')", "such as 'openai/gpt-4o'"),
        ("Judge('opnai/gpt-4o')", "did you mean 'openai'"),
        ("Judge('openai/gpt-4o', examples='one_shot')", "did you mean 'one-shot'"),
        ("Judge('openai/gpt-4o', reply='yaml')", "reply='yaml'"),
        ("Judge('openai/gpt-4o', temperature=-1)", "0 or more"),
        ("Judge('openai/gpt-4o', promt='x')", "did you mean 'prompt'"),
    ],
)
def test_what_cannot_be_built_is_said(text: str, message: str) -> None:
    with pytest.raises(MetaevalError, match=message):
        build(text)
