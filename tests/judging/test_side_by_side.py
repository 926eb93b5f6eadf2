"""Judges that score side by side: as fast as the slowest, with the results of one after the other."""

from __future__ import annotations

import json
import os
import signal
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import metaeval as me
from metaeval.base.errors import MetaevalError, SpecError, StoppedError
from metaeval.judging.settings import judging
from metaeval.kinds.scoring import Scoring, resolve
from metaeval.llm.calls.limits import Limits
from metaeval.llm.store.replies import Store
from tests.kinds.explanations.judge.test_judge import KEY, ratings_of
from tests.llm.dialects import reasoning
from tests.llm.server import Act, Server, always, error, serving

REFUSED = always(error(401, "invalid_api_key", "wrong key"))


def answer(body: dict[str, Any], _before: int) -> Act:
    return Act(text=json.dumps(dict(zip(("clear", "fitting"), ratings_of(body), strict=False))))


@pytest.fixture
def data(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> me.ExplanationSet:
    """Each of the 18 units has its own text, so that calls can be counted."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    loaded = me.load(tiny)
    texts = [f"{text} ({i})" for i, text in enumerate(loaded.explanations["explanation"])]
    return replace(loaded, explanations=loaded.explanations.assign(explanation=texts))


def judge(server: Server, *more: str, model: str = "openai/m") -> str:
    return f"Judge({', '.join([repr(model), *more, f'base_url={server.openai!r}'])})"


@pytest.mark.slow
def test_judges_of_every_form_ask_at_once_and_the_numbers_are_the_same(data: me.ExplanationSet) -> None:
    """No server answers before all were asked: one after the other, this would never end."""
    every, met = threading.Barrier(3), threading.Semaphore(3)

    def behave(body: dict[str, Any], before: int) -> Act:
        if met.acquire(blocking=False):
            every.wait(10)
        if "A:" in str(body["messages"]) and "B:" in str(body["messages"]):
            return Act(text=json.dumps(dict.fromkeys(("clear", "fitting"), "A")))
        return answer(body, before)

    with serving(behave) as one, serving(behave) as two, serving(behave) as three:
        given = {
            "mean": f"Mean(a, {judge(three)})",
            "a": judge(one),
            "length": "Length()",
            "pairs": f"Pairwise('openai/m', pairs='swiss', rounds=2, base_url={two.openai!r})",
        }
        with judging("s.sqlite"):
            together = me.score(data, given)
        calls = len(one.log) + len(two.log) + len(three.log)
        with judging("s.sqlite", offline=True):
            alone = {name: me.score(data, given | {}).frame.query("evaluator == @name") for name in given}
        with judging("t.sqlite"):
            scoring = Scoring(data, resolve(given))
            in_turn = {name: scoring.table(name) for name in given}
        assert len(one.log) + len(two.log) + len(three.log) == 2 * calls
    assert list(together.evaluators) == list(given)
    for name in given:
        mine = together.frame.query("evaluator == @name").drop(columns="seconds").reset_index(drop=True)
        assert mine.equals(alone[name].drop(columns="seconds").reset_index(drop=True))
        theirs = in_turn[name].frame.drop(columns="seconds", errors="ignore").reset_index(drop=True)
        assert mine[theirs.columns].equals(theirs)
        assert together.signatures[name] == in_turn[name].signatures[name]


def test_judges_that_stop_lose_nothing_of_the_others(
    data: me.ExplanationSet, caplog: pytest.LogCaptureFixture
) -> None:
    with serving(answer, delay=0.1) as good, serving(REFUSED) as bad:
        given = {
            "bad": judge(bad),
            "good": judge(good),
            "mean": "Mean(good, bad)",
            "worse": judge(bad, model="openai/n"),
            "better": "Mean(good, good)",
        }
        with judging("s.sqlite", limits=Limits(concurrency=4)):
            scoring = Scoring(data, resolve(given))
            found = []
            with pytest.raises(StoppedError) as caught:
                found += [name for name, _ in scoring.tables()]
        assert str(caught.value) == (
            "openai/m takes no call (invalid_api_key): wrong key; openai/n takes no call (invalid_api_key): "
            "wrong key; what was answered is kept, and the same command goes on from there"
        ) or str(caught.value).startswith("openai/n takes no call (invalid_api_key): wrong key; openai/m")
        assert len(good.log) == len(data)
        assert "openai/m takes no call (invalid_api_key): wrong key; the other judges go on" in caplog.text
        bad.behave = answer
        with judging("s.sqlite"):
            assert (me.score(data, given).frame["status"] == "ok").all()
        assert len(good.log) == len(data)


def test_wrong_input_of_one_ends_all_soon_and_keeps_what_was_paid_for(data: me.ExplanationSet) -> None:
    seen: list[str] = []

    def slow(body: dict[str, Any], before: int) -> Act:
        seen.append(body["messages"][0]["content"])
        return answer(body, before)

    with serving(slow, delay=0.3) as good, serving(reasoning, delay=0.05) as strict:
        given = {"good": judge(good), "stated": judge(strict, "temperature=0")}
        with (
            judging("s.sqlite", limits=Limits(concurrency=3)),
            pytest.raises(MetaevalError, match="leave temperature out") as caught,
        ):
            me.score(data, given)
        assert caught.value.exit_code == 2
        assert 0 < len(seen) < len(data)
    with Store("s.sqlite") as store:
        assert store.rows("SELECT count(*) FROM replies WHERE error_kind IS NULL") == [(len(seen),)]


def test_ctrl_c_ends_all_soon_and_the_same_block_goes_on(data: me.ExplanationSet) -> None:
    with serving(answer, delay=0.05) as one, serving(answer, delay=0.05) as two:
        given = [judge(server, f"replicate={n}") for n in range(3) for server in (one, two)]
        with judging("s.sqlite", limits=Limits(concurrency=2)) as settings:
            timer = threading.Timer(0.6, os.kill, (os.getpid(), signal.SIGINT))
            timer.start()
            with pytest.raises(KeyboardInterrupt):
                me.score(data, given)
            timer.join()
            calls = len(one.log) + len(two.log)
            ((kept,),) = settings.store.rows("SELECT count(*) FROM replies")
            assert calls - 4 <= kept <= calls < 6 * len(data)
            assert (me.score(data, given).frame["status"] == "ok").all()
            assert len(one.log) + len(two.log) - calls == 6 * len(data) - kept


def test_a_model_says_the_limits_of_its_address(data: me.ExplanationSet) -> None:
    with serving(answer, delay=0.03) as one, serving(answer, delay=0.03) as two:
        models = {
            "slow": {"model": "openai/m", "base_url": two.openai, "concurrency": 2},
            "same": {"model": "openai/n", "base_url": two.openai},
        }
        given = {"a": judge(one), "b": "Judge('slow')", "c": "Judge('same')"}
        with judging("s.sqlite", limits=Limits(concurrency=6)) as settings:
            me.score(data, given, models=models)
            assert settings.at == {("openai", two.openai): Limits(concurrency=2)}
        assert one.most_in_flight > two.most_in_flight == 2
        assert not any("concurrency" in s.body for s in two.log)
        models["same"]["concurrency"] = 3
        with pytest.raises(SpecError, match="'slow' and 'same' share an address, and give concurrency"):
            me.score(data, given, models=models)


def test_a_judge_alone_outside_of_a_block_asks_too(
    data: me.ExplanationSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("METAEVAL_STORE", "s.sqlite")
    with serving(answer, delay=0.02) as server:
        table = me.score(data, [judge(server), judge(server, "attempts=2")])
        assert (table.frame["status"] == "ok").all()
        assert len(server.log) == len(data)
