"""Studies whose judges are asked by batches, against a server of files and batches."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from aiohttp import web

import metaeval as me
from metaeval.base.errors import MetaevalError, StoppedError
from metaeval.cli import main
from metaeval.llm.batch import batches, endpoint
from tests.kinds.explanations.judge.test_judge import KEY
from tests.llm.batch.server import BatchServer
from tests.llm.server import PROSE, Act, Server, always, error
from tests.tiny import write_study

PRICE = "prices: {openai/m: {input: 2, output: 8}}"


def answer(body: dict[str, Any], _before: int) -> Act:
    """Rate by the length of what is asked; of two texts the second is better."""
    asked = str(body["messages"])
    number = 2 if "second-explanation" in asked else len(asked) % 5 + 1
    return Act(text=f"clear: {number}\nfitting: {number}")


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tiny: Path) -> Iterator[BatchServer]:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setattr(batches, "_POLL_SECONDS", 0.01)
    with BatchServer(tmp_path / "server", answer) as running:
        yield running


def study(server: BatchServer | Server, judge: str = "Judge('openai/m')", store: str = "s.sqlite") -> Path:
    spec = judge.replace("openai/m'", f"openai/m', base_url='{server.openai}'")
    return write_study(
        Path("study.yaml"),
        evaluators=f'{{judge: "{spec}", both: "Mean(judge, Annotator(\'1\'))"}}',
        judging=f"{{store: {store}, {PRICE}}}",
        bootstrap="{resamples: 20}",
        details="false",
    )


@pytest.mark.slow
def test_a_run_by_batches_is_that_of_ordinary_calls_at_half_the_price(
    server: BatchServer, capsys: pytest.CaptureFixture[str]
) -> None:
    server.looks = 1
    path = str(study(server))
    for _ in range(2):
        assert main(["run", path, "--out", "batch", "--batch"]) == 3
        err = capsys.readouterr().err
        assert "replies are outstanding from 1 batch, within 24 hours: the scores of 0 of 2 evaluators" in err
        assert "run the same command again to go on" in err
    assert main(["run", path, "--out", "batch", "--batch"]) == 0
    assert "leaderboard.md" in capsys.readouterr().out
    assert main(["run", path, "--out", "batch", "--batch"]) == 0
    assert "Finished already" in capsys.readouterr().out
    assert len(server.made()) == 1
    with Server(answer) as ordinary:
        assert main(["run", str(study(ordinary, store="other.sqlite")), "--out", "ordinary"]) == 0
    for name in ("correlations.csv", "leaderboard.csv"):
        assert Path("batch", name).read_text() == Path("ordinary", name).read_text()
    half, whole = (pd.read_csv(Path(run, "cost.csv")) for run in ("batch", "ordinary"))
    assert list(half["usd"]) == pytest.approx(list(whole["usd"] / 2))
    assert half["usd"].gt(0).all()
    assert half["seconds_per_text"].isna().all()
    assert json.loads(Path("batch", "run.json").read_text())["study"]["judging"]["batch"] is True


@pytest.mark.slow
def test_a_study_may_say_it_and_wait(server: BatchServer) -> None:
    server.looks = 3
    server.fate = lambda before: "completed" if before else "expired"
    path = study(server)
    path.write_text(path.read_text().replace("judging: {", "judging: {batch: true, "))
    run = me.run(path, "out", wait=True)
    assert (run.scores.frame["status"] == "ok").all()
    assert len(server.made()) == 2


@pytest.mark.slow
def test_a_swiss_tournament_takes_a_batch_per_round(server: BatchServer) -> None:
    units = pd.read_csv("tiny/explanations.csv")
    units["explanation"] += [f" ({i})" for i in range(len(units))]  # so that no two pairs are alike
    units.to_csv("tiny/explanations.csv", index=False)
    path = study(server, "Pairwise('openai/m', pairs='swiss', rounds=2)")
    run = me.run(path, "out", batch=True, wait=True)
    verdicts = run.scores.verdicts
    assert verdicts is not None
    assert set(verdicts["status"]) == {"ok"}
    assert len(server.made()) == 2
    assert set(server.paid().values()) == {1}


@pytest.mark.slow
def test_calls_that_no_batch_answers_are_lost_and_asked_again(
    server: BatchServer, capsys: pytest.CaptureFixture[str]
) -> None:
    server.behave = lambda body, _: (
        error(400, "invalid_prompt", "not this one") if "Why not" in str(body) else answer(body, _)
    )
    path = str(study(server))
    assert main(["run", path, "--out", "out", "--batch", "--wait"]) == 3
    err = capsys.readouterr().err
    assert "not this one" in err
    assert "--batch" in err
    server.behave = answer
    assert main(["run", path, "--out", "out", "--batch", "--wait"]) == 0
    assert len(server.made()) == 2


@pytest.mark.slow
def test_waiting_outlives_a_server_that_is_away_for_a_while(
    server: BatchServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(endpoint, "_TRIES", 0)
    away = iter(("upload after", "create before", "create after", "look before", "content before"))
    now = next(away)

    def at(step: str) -> None:
        nonlocal now
        if step == now:
            now = next(away, "")
            raise web.HTTPServiceUnavailable

    server.at = at
    assert (me.run(study(server), "out", batch=True, wait=True).scores.frame["status"] == "ok").all()
    assert not now
    assert set(server.paid().values()) == {1}


@pytest.mark.parametrize(
    ("judge", "said"),
    [
        ("Judge('groq/m')", "provider 'groq' takes no batches, which openai, dashscope"),
        ("Judge('simulated/m')", "provider 'simulated' takes no batches"),
    ],
)
def test_a_provider_without_batches_is_refused_before_anything_is_sent(
    server: BatchServer, judge: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for more in ([], ["--dry-run"]):
        assert main(["run", str(study(server, judge)), "--batch", *more]) == 2
        assert said in capsys.readouterr().err
    assert not Path("results", "study", "run.json").exists()


@pytest.mark.parametrize("options", [["--offline", "--batch"], ["--wait"]])
def test_options_that_do_not_go_together(server: BatchServer, options: list[str]) -> None:
    assert main(["run", str(study(server)), *options]) == 2
    assert not server.seen


def test_a_wrong_key_stops(server: BatchServer) -> None:
    server.key = "another"
    with pytest.raises(StoppedError, match=r"sent or collected \(invalid_api_key\): wrong: Bearer \[key\]"):
        me.run(study(server), "out", batch=True, wait=True)


def test_a_dry_run_says_both_prices(server: BatchServer, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", str(study(server)), "--dry-run"]) == 0
    assert "; by batch likely " in capsys.readouterr().out
    assert main(["run", str(study(server)), "--dry-run", "--json"]) == 0
    (judge,) = json.loads(capsys.readouterr().out)["judges"]
    assert judge["batch_usd"] == pytest.approx(judge["usd"] / 2)
    assert judge["batch_usd_likely"] == pytest.approx(judge["usd_likely"] / 2)
    with pytest.raises(MetaevalError, match="wait is for batches"):
        me.run(study(server), "out", wait=True)


@pytest.mark.slow
def test_a_batch_of_which_nothing_can_be_read_is_not_sent_again(
    server: BatchServer, capsys: pytest.CaptureFixture[str]
) -> None:
    server.behave = always(PROSE)
    path = study(server)
    path.write_text(path.read_text().replace("judging: {", "judging: {stop_unread: 5, "))
    assert main(["run", str(path), "--out", "out", "--batch", "--wait"]) == 3
    assert "none of the first 5 replies to" in capsys.readouterr().err
    assert len(server.made()) == 1
    path.write_text(path.read_text().replace("judging: {stop_unread: 5, ", "judging: {stop_unread: 0, "))
    server.behave = answer
    assert main(["run", str(path), "--out", "out", "--batch", "--wait"]) == 0
    assert len(server.made()) == 2
