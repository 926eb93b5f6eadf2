"""What asking would take, before anything is sent: likely and at most, a judge and all together."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import metaeval as me
from metaeval.cli import main
from metaeval.judging.estimate import CallEstimate, estimates, total_of
from metaeval.study.plan import plan
from tests.kinds.explanations.judge.test_judge import KEY
from tests.llm.server import Act, Server, serving
from tests.study.runs import QUICK
from tests.tiny import write_study

PRICES = "prices: {openai/gpt-4o: {input: 2.5, output: 10}, openai/gpt-5: {input: 1, output: 20}}"
JSON_OF_TWO = json.dumps({"clear": 3, "fitting": 4})


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def study_of(tiny: Path, *judges: str) -> Path:
    return write_study(
        tiny.parent / "s.yaml",
        **{
            **QUICK,
            "evaluators": json.dumps(list(judges)),
            "judging": f"{{store: replies.sqlite, {PRICES}}}",
        },
    )


def judge(server: Server, *more: str, model: str = "gpt-4o") -> str:
    return f"Judge({', '.join([repr(f'openai/{model}'), *more, f'base_url={server.openai!r}'])})"


def estimated(study: Path) -> list[CallEstimate]:
    todo = plan(study, "out")
    return estimates(todo.scoring.judges, todo.parts, todo.scoring.aspects, todo.study.judging)


def test_a_budget_that_cannot_be_kept_is_refused_before_the_run(
    tiny: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    keys = {"evaluators": "[\"Judge('openai/no-such-model')\"]", "judging": "{max_usd: 1, store: r.sqlite}"}
    study = write_study(tiny.parent / "s.yaml", **keys)
    assert main(["run", str(study), "--dry-run"]) == 2
    said = capsys.readouterr().err
    assert "since its price is unknown; set `judging.prices`: {openai/no-such-model: {input" in said


def test_replies_seen_say_what_the_others_will_cost(tiny: Path) -> None:
    """The server says 100 and 10 tokens for every call; half of the units are in the store."""
    with serving(lambda *_: Act(text=JSON_OF_TWO)) as server:
        study = study_of(tiny, judge(server))
        (before,) = estimated(study)
        assert before.basis == "guess"
        assert before.usd_likely is not None
        assert before.usd is not None
        assert 0 < before.usd_likely < before.usd / 3
        some = write_study(
            Path("some.yaml"),
            **{
                **QUICK,
                "exclude": "{user_id: [u3]}",
                "evaluators": json.dumps([judge(server)]),
                "judging": "{store: replies.sqlite}",
            },
        )
        me.run(some, "some")
        replicate = study_of(tiny, judge(server), judge(server, "replicate=1"))
        first, second = estimated(replicate)
    assert (first.basis, first.calls) == ("judge", 0)
    assert (first.usd_likely, first.usd, first.reply_tokens) == (0, 0, 0)
    assert (second.basis, second.calls, second.in_store) == ("model", before.requests, 0)
    assert second.reply_tokens == 10 * second.calls
    assert second.usd_likely == pytest.approx((second.tokens * 2.5 + second.reply_tokens * 10) / 1e6)
    assert second.usd == before.usd


def test_a_guess_follows_what_the_prompt_asks_for(tiny: Path) -> None:
    with serving() as server:
        short, prose = estimated(study_of(tiny, judge(server), judge(server, "reply='text'")))
    assert prose.reply_tokens > 3 * short.reply_tokens
    (limited,) = estimated(study_of(tiny, "Judge('openai/gpt-4o', reply='text', max_tokens=20)"))
    assert limited.reply_tokens == 20 * limited.calls
    assert limited.usd_likely is not None
    assert limited.usd is not None
    assert limited.usd_likely < limited.usd


def test_all_judges_together(tiny: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with serving() as server:
        names = [judge(server), judge(server, model="gpt-5"), judge(server, model="unheard-of")]
        study = study_of(tiny, *names)
        each = estimated(study)
        assert main(["run", str(study), "--dry-run"]) == 0
        assert not server.log
    total = total_of(each)
    assert [e.usd_likely is None for e in each] == [False, False, True]
    assert total.calls == sum(e.calls for e in each)
    assert total.usd_likely == pytest.approx(sum(e.usd_likely or 0 for e in each))
    assert total.usd == pytest.approx(sum(e.usd or 0 for e in each))
    out = capsys.readouterr().out
    for e in (*each[:2], total):
        assert f"{e.calls:,} calls to make" in out
        assert f"likely {e.usd_likely:.4g} USD, at most {e.usd:.4g} USD" in out
    assert "judge       all 3 judges" in out
    assert "1 of them have no known price: set `judging.prices`; sums leave them out." in out
    assert "a guess for models without replies in the store" in out
    assert main(["run", str(study), "--dry-run", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["total"]["usd_likely"] == pytest.approx(total.usd_likely)


@pytest.mark.slow
def test_what_judges_ask_alike_is_counted_once(tiny: Path) -> None:
    with serving(lambda *_: Act(text=JSON_OF_TWO)) as server:
        alike = [judge(server, f"attempts={n}") for n in (1, 2, 3)]
        study = study_of(tiny, *alike, judge(server, "replicate=1"))
        found = estimated(study)
        requests, total = found[0].requests, total_of(found)
        assert [(e.shared, e.calls) for e in found] == [
            (0, requests),
            (requests, 0),
            (requests, 0),
            (0, requests),
        ]
        assert total.requests == total.calls == 2 * requests
        assert found[0].usd is not None
        assert total.usd == pytest.approx(2 * found[0].usd)
        assert (found[1].usd, found[1].usd_likely, found[1].reply_tokens) == (0, 0, 0)
        me.run(study, "out")
        assert len(server.log) == total.calls
        assert [e.in_store for e in estimated(study)] == [e.calls for e in found]
