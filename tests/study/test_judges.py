"""Runs with judges, killed, without a key, carried elsewhere."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import metaeval as me
from metaeval.cli import main
from metaeval.judging.settings import judging_of
from metaeval.kinds.explanations.data.loading import save
from metaeval.kinds.reading import make_study
from metaeval.llm.calls.limits import Limits
from metaeval.llm.store.replies import Store
from tests.conftest import ROOT
from tests.kinds.explanations.judge.test_judge import ASPECTS, KEY, answer
from tests.llm.dialects import anthropic, gemini, reasoning
from tests.llm.server import HANG, Act, Behave, Server, error, serving
from tests.tiny import FEW, write_study

USERS = 5
UNITS = USERS * 24
OUTPUTS = ("correlations.csv", "leaderboard.md", "leaderboard.csv", "leaderboard.tex")


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Some users of the sample, in the folder that the test works in."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    whole = me.load(ROOT / "data" / "sample")
    users = sorted(whole.explanations["user_id"].unique())[:USERS]
    explanations, ratings, profiles = (
        f[f["user_id"].isin(users)].reset_index(drop=True)
        for f in (whole.explanations, whole.ratings, whole.users)
    )
    part = replace(whole, explanations=explanations, ratings=ratings, users=profiles)
    save(part, tmp_path / "sample", "csv")
    return tmp_path


def study_on(server: Server, path: Path = Path("s.yaml"), **keys: str) -> Path:
    judge = f"\"Judge('openai/gpt-4o', examples='personalized', base_url='{server.openai}')\""
    given = {
        **FEW,
        "dataset": "sample",
        "evaluators": f"{{judge: {judge}, both: \"Mean(judge, Annotator('1'))\"}}",
        "missing": "{truth: 3, score: 0}",
        "judging": "{store: replies.sqlite}",
        **keys,
    }
    return write_study(path, **given)


def several_on(server: Server) -> str:
    """Return three judges and two ensembles of them; each asks a model of its own."""
    specs = {
        name: f"Judge('openai/{name}', examples='personalized', base_url='{server.openai}')"
        for name in ("judge", "second", "third")
    }
    return json.dumps({"all": "Mean(judge, second, third)", **specs, "two": "Median(second, third)"})


def asked_in(server: Server, start: int = 0) -> list[tuple[str, str]]:
    return [(s.body["model"], s.body["messages"][0]["content"]) for s in server.log[start:]]


def command(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "metaeval", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )


def stored() -> dict[str, tuple[str, str]]:
    """Return model and message of every stored request by its key."""
    if not Path("replies.sqlite").exists():
        return {}
    with Store("replies.sqlite") as store:
        requests = {k: store.request_in(t, k) for k, t in store.rows("SELECT key, request FROM replies")}
    return {key: (r["model"], r["messages"][0][1]) for key, r in requests.items()}


@pytest.mark.slow
def test_killed_time_and_again_nothing_is_lost_nor_asked_again(data: Path) -> None:
    rng = random.Random(0)  # noqa: S311 - when to kill
    with serving(answer, delay=0.02) as server:
        limits = "{store: replies.sqlite, concurrency: 4}"
        study = study_on(server, evaluators=several_on(server), judging=limits)
        kills = 0
        while kills < 5:
            process = command("run", str(study), "--out", "killed")
            before = len(server.log)
            deadline = time.monotonic() + 240
            while len(server.log) < before + 1 and process.poll() is None and time.monotonic() < deadline:
                time.sleep(0.01)
            time.sleep(rng.uniform(0, 0.12))
            if process.poll() is not None:
                break
            process.send_signal(signal.SIGKILL)
            process.communicate()
            kills += 1
            done, seen = set(stored().values()), len(server.log)
            time.sleep(0.05)
            assert not done & set(asked_in(server, seen))
        process = command("run", str(study), "--out", "killed")
        _, err = process.communicate(timeout=240)
        assert process.returncode == 0, err
        assert kills >= 3
        asked = Counter(asked_in(server))
        assert set(asked) == set(stored().values())
        assert {model for model, _ in asked} == {"judge", "second", "third"}
        # Beside what was under way when it was killed, nothing was asked twice.
        assert sum(asked.values()) - len(asked) <= 4 * kills
        with sqlite3.connect("replies.sqlite") as connection:
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        connection.close()
        Path("replies.sqlite").unlink()
        undisturbed = me.run(study, "undisturbed")
    for name in OUTPUTS:
        assert Path("killed", name).read_bytes() == Path("undisturbed", name).read_bytes()
    frame = undisturbed.scores.frame.query("evaluator == 'judge'")
    assert len(frame) == UNITS * 4
    assert not frame.duplicated(["user_id", "item_id", "generator", "aspect"]).any()


@pytest.mark.slow
def test_interrupted_it_keeps_what_it_has_and_ends_soon(data: Path) -> None:
    with serving(answer, delay=0.05) as server:
        limits = "{store: replies.sqlite, concurrency: 4}"
        study = study_on(server, evaluators=several_on(server), judging=limits)
        process = command("run", str(study), "--out", "out")
        while len(server.log) < 30 and process.poll() is None:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        started = time.monotonic()
        _, err = process.communicate(timeout=240)
        assert time.monotonic() - started < 120  # a second on an idle machine
        assert process.returncode == 3
        assert "run the same command again" in err
        assert "Traceback" not in err
        answered = len(stored())
        assert answered >= 20
        n = len(server.log)
        assert len({model for model, _ in stored().values()}) == 3
        me.run(study, "out")
        distinct = len(stored())
        assert len(server.log) - n == distinct - answered


@pytest.mark.slow
def test_judges_that_stop_keep_the_others_and_say_so(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    refused = {"second": 401, "third": 404}

    def behave(body: dict[str, Any], before: int) -> Act:
        status = refused.get(body["model"])
        return error(status, "no", f"not {body['model']}") if status else answer(body, before)

    with serving(behave, delay=0.005) as server:
        study = study_on(server, evaluators=several_on(server))
        assert main(["run", str(study), "--out", "out"]) == 3
        said = capsys.readouterr().err.strip().splitlines()[-1]
        assert "openai/second takes no call (no): not second" in said
        assert "openai/third takes no call (no): not third" in said
        assert said.endswith(
            "the scores of 1 of 5 evaluators are kept in out; run the same command again to go on"
        )
        refused.clear()
        n = len(server.log)
        assert main(["run", str(study), "--out", "out"]) == 0
        assert {model for model, _ in asked_in(server, n)} == {"second", "third"}


@pytest.mark.slow
def test_judges_with_equal_prompts_are_asked_and_paid_once(data: Path) -> None:
    prices = "{store: replies.sqlite, prices: {openai/gpt-4o: {input: 2.5, output: 10}}}"
    with serving(answer) as server:
        specs = {
            f"j{n}": f"Judge('openai/gpt-4o', attempts={n}, base_url='{server.openai}')" for n in range(1, 37)
        }
        study = study_on(server, evaluators=json.dumps(specs), judging=prices)
        me.run(study, "out")
    assert len(server.log) == len(stored()) == len(set(asked_in(server)))
    costs = pd.read_csv("out/cost.csv").set_index("evaluator")
    assert costs["shared"].tolist() == [1] * 36
    assert costs["usd"].to_numpy() == pytest.approx(costs["usd_alone"].iloc[0] / 36)
    assert "paid once, in equal parts: 100.0% of j1 (alone" in Path("out/cost.md").read_text(encoding="utf-8")


def runs_on(dialect: Behave, judges: dict[str, str], out: str) -> tuple[Server, int]:
    """Run a study with judges (name → arguments) on a server, and return the server and the exit code."""
    with serving(dialect, delay=0.005) as server:
        specs = ", ".join(
            f"{name}: \"Judge('openai/o5', {more}base_url='{server.openai}')\""
            for name, more in judges.items()
        )
        study = study_on(server, evaluators=f"{{{specs}}}")
        return server, main(["run", str(study), "--out", out])


@pytest.mark.slow
@pytest.mark.parametrize("dialect", [reasoning, anthropic, gemini])
def test_servers_that_refuse_parameters(data: Path, dialect: Behave) -> None:
    rated = json.dumps(dict.fromkeys(ASPECTS, 3))

    def behave(body: dict[str, Any], before: int) -> Act:
        act = dialect(body, before)
        return act if act.kind == "status" else replace(act, text=rated)

    server, code = runs_on(behave, {"one": "", "two": "replicate=1, max_tokens=900, "}, "out")
    assert code == 0
    refused = [s.act.body for s in server.log if s.act.kind == "status"]
    assert len(refused) == {reasoning: 2, anthropic: 1, gemini: 0}[dialect]
    signatures = {
        n: e["signature"] for n, e in json.loads(Path("out/run.json").read_text())["evaluators"].items()
    }
    sent = {
        reasoning: ["max_tokens as max_completion_tokens", "without temperature"],
        anthropic: ["without temperature"],
        gemini: None,
    }[dialect]
    assert [signatures[n].get("sent") for n in ("one", "two")] == [sent] * 2
    assert (pd.read_parquet("out/scores.parquet")["status"] == "ok").all()
    assert {s.body.get("max_completion_tokens", s.body.get("max_tokens")) for s in server.log} == {1024, 900}


def test_a_stated_setting_that_is_refused_ends_the_run(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server, code = runs_on(reasoning, {"one": "temperature=0, "}, "out")
    assert code == 2
    assert "leave temperature out" in capsys.readouterr().err
    assert len(server.log) == 2
    assert not Path("out/correlations.csv").exists()


@pytest.mark.slow
def test_without_a_key_from_carried_replies(
    data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(answer) as server:
        study = study_on(server)
        online = me.run(study, "online")
        assert main(["store", "export", "replies.jsonl", "--run", "online"]) == 0
    n = len({row for row in online.scores.frame["call"].dropna() if row})
    assert len(Path("replies.jsonl").read_text(encoding="utf-8").splitlines()) == n
    assert KEY not in Path("replies.jsonl").read_text(encoding="utf-8")
    monkeypatch.delenv("OPENAI_API_KEY")
    Path("replies.sqlite").rename("elsewhere.sqlite")
    monkeypatch.setenv("METAEVAL_STORE", "replies.sqlite")
    assert main(["store", "import", "replies.jsonl"]) == 0
    assert main(["run", str(study), "--out", "offline", "--offline"]) == 0, capsys.readouterr().err
    for name in OUTPUTS:
        assert Path("online", name).read_bytes() == Path("offline", name).read_bytes()
    assert main(["reparse", "offline"]) == 0
    assert Path("online", "correlations.csv").read_bytes() == Path("offline", "correlations.csv").read_bytes()


def test_offline_without_replies_is_said(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with serving(answer) as server:
        study = study_on(server)
    assert main(["run", str(study), "--offline"]) == 2
    err = capsys.readouterr().err
    assert err.startswith("metaeval: ")
    assert "store" in err
    assert not Path("results/s").exists()


@pytest.mark.slow
def test_dry_run_sends_nothing_and_says_what_it_would_take(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    prices = "{store: replies.sqlite, prices: {openai/gpt-4o: {input: 2.5, output: 10}}}"
    with serving(answer) as server:
        study = study_on(server, judging=prices)
        assert main(["run", str(study), "--dry-run"]) == 0
        out = capsys.readouterr().out
        assert not server.log
        assert "calls to make, 0 in the store" in out
        assert "USD" in out
        assert "## The explanation to judge" in out
        me.run(study, "out")
        assert main(["run", str(study), "--dry-run", "--json"]) == 0
    (judge,) = json.loads(capsys.readouterr().out)["judges"]
    assert judge["in_store"] == judge["requests"] > 80
    assert judge["usd"] == 0


@pytest.mark.slow
def test_a_budget_ends_the_run_with_exit_3_and_more_of_it_goes_on(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(answer) as server:
        several = several_on(server)
        study = study_on(server, evaluators=several, judging="{store: replies.sqlite, max_calls: 100}")
        assert main(["run", str(study), "--out", "out"]) == 3
        said = capsys.readouterr().err
        which = " and ".join([r"[\d,]+ scores of \w+"] * 3)
        assert re.search(f"the budget is used up and {which} were not asked for: the scores of 0 of 5", said)
        assert len(server.log) == 100
        record = json.loads(Path("out/run.json").read_text(encoding="utf-8"))
        assert record["status"] == "stopped"
        assert not Path("out/leaderboard.md").exists()
        study_on(server, evaluators=several)
        assert main(["run", str(study), "--out", "out"]) == 0
        assert len(server.log) == len(stored())


def test_a_budget_of_the_command_takes_the_place_of_the_studys_and_changes_no_result(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(answer) as server:
        prices = "{openai/gpt-4o: {input: 1, output: 1}}"
        study = study_on(server, judging=f"{{store: replies.sqlite, prices: {prices}}}")
        run = ["run", str(study), "--out", "out"]
        assert main([*run, "--max-usd", "0"]) == 3
        assert not server.log
        assert main([*run, "--max-usd", "9", "--study-id", "shared"]) == 0
        with Store("replies.sqlite") as store:
            ((name, used),) = store.rows("SELECT study, used FROM budgets WHERE part = 'usd'")
        assert name == "shared"
        assert 0 < used < 9e9
        capsys.readouterr()
        assert main(run) == 0
        assert "Finished already" in capsys.readouterr().out


@pytest.mark.slow
def test_a_server_that_hangs_ends_the_run_with_exit_3_in_the_time_that_the_study_gives(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(lambda _body, _before: HANG) as server:
        times = "{store: replies.sqlite, reply_seconds: 0.4, patience_seconds: 1, retries: 2}"
        study = study_on(server, judging=times)
        started = time.monotonic()
        assert main(["run", str(study), "--out", "out"]) == 3
        assert time.monotonic() - started < 60
        assert "answers no call (timeout): no reply within 0.4 seconds" in capsys.readouterr().err
        assert len(server.log) < 20
        server.behave = answer
        assert main(["run", str(study), "--out", "out"]) == 0


def test_the_limits_of_a_study_reach_the_run(data: Path) -> None:
    times = {"reply_seconds": 2, "call_seconds": 3, "patience_seconds": 4, "retries": 5}
    others = {"concurrency": 6, "requests_per_minute": 7, "tokens_per_minute": 8}
    study = make_study({"dataset": "sample", "evaluators": ["Length()"], "judging": {**times, **others}})
    with judging_of(study.judging) as settings:
        assert settings.limits == Limits(**times, **others)


@pytest.mark.slow
def test_the_key_is_nowhere(data: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with serving(answer) as server:
        study = study_on(server)
        process = command("run", str(study), "--out", "out")
        out, err = process.communicate(timeout=240)
        assert process.returncode == 0, err
        assert {s.authorization for s in server.log} == {f"Bearer {KEY}"}
    main(["store", "info"])
    captured = capfd.readouterr()
    for text in (out, err, captured.out, captured.err):
        assert KEY not in text
    for file in data.rglob("*"):
        if file.is_file():
            assert KEY.encode() not in file.read_bytes(), file
