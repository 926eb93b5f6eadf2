"""Runs that lost calls on the way say so, end with exit code 3, and ask again for what was lost."""

from __future__ import annotations

import itertools
import json
import shlex
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import metaeval as me
from metaeval.base.errors import StoppedError
from metaeval.cli import main
from metaeval.kinds.explanations.data.loading import save
from tests.kinds.explanations.judge.test_judge import KEY
from tests.llm.server import Act, Server, error, serving
from tests.study.runs import QUICK
from tests.study.test_report import payload_of
from tests.tiny import write_study

UNITS = 24
LOST = 5
LOUD = "LOST REPLIES."
SENTENCE = "5 of 24 calls of judge brought no reply (too_long, 5 times: The prompt is too long)."
AGAIN = "metaeval run s.yaml --out out"


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A data set whose texts all differ, so that each is a call of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    units = pd.DataFrame(
        itertools.product(["u1", "u2", "u3"], ["i1", "i2"], ["a", "b", "c", "d"]),
        columns=["user_id", "item_id", "generator"],
    )
    texts = [f"Text number {n}." for n in range(UNITS)]
    ratings = pd.concat(
        units.assign(rater=rater, aspect="clear", rating=[1 + (n * step + n // 7) % 5 for n in range(UNITS)])
        for rater, step in (("user", 1), ("1", 3))
    )
    save(me.from_frames(units.assign(explanation=texts), ratings, scale=(1, 5)), "data", "csv")


def reply(body: dict[str, Any], _before: int) -> Act:
    prompt = body["messages"][0]["content"]
    return Act(text=json.dumps({"clear": 1 if "which" in prompt.lower() and "first" in prompt else 2}))


def lossy(body: dict[str, Any], before: int) -> Act:
    """Take no prompt with the text of a number that five divides."""
    refused = any(f"Text number {n}." in body["messages"][0]["content"] for n in range(0, UNITS, 5))
    return error(400, "too_long", "The prompt is too long.") if refused else reply(body, before)


def study_on(
    server: Server, evaluators: str = "{judge: JUDGE, annotator: \"Annotator('1')\"}", **keys: str
) -> str:
    judge = f"Judge('openai/gpt-4o', base_url='{server.openai}')"
    write_study(
        Path("s.yaml"),
        **{
            **QUICK,
            **keys,
            "dataset": "data",
            "details": "true",
            "evaluators": evaluators.replace("JUDGE", f'"{judge}"').replace("SPEC", judge),
        },
    )
    return "s.yaml"


@pytest.mark.slow
def test_it_is_said_last_and_in_every_head_and_asked_again(capsys: pytest.CaptureFixture[str]) -> None:
    with serving(lossy) as server:
        study = study_on(server)
        assert main(["run", study, "--out", "out"]) == 3
        out, err = capsys.readouterr()
        assert "Report: out/report.html" in out
        *_, said, how = err.splitlines()
        assert said == f"metaeval: {SENTENCE}"
        assert how.endswith(f"ask for them again with: {AGAIN}")
        head = Path("out/leaderboard.md").read_text(encoding="utf-8").split("\n## ")[0]
        assert LOUD in head
        assert "5 of 24 calls of judge" in head
        assert Path("out/details.md").read_text(encoding="utf-8").startswith(f"> **{LOUD}** 5 of 24 calls")
        page = Path("out/report.html")
        assert LOUD in page.read_text(encoding="utf-8")  # for readers without scripts
        assert payload_of(page)["lost"] == [SENTENCE, how.removeprefix("metaeval: ")]
        record = json.loads(Path("out/run.json").read_text(encoding="utf-8"))
        (lost,) = record["lost"]
        assert (lost["evaluator"], lost["asked"], lost["lost"]) == ("judge", UNITS, LOST)
        assert (record["status"], record["evaluators"]["judge"]["scores"]["transport"]) == ("done", LOST)

        server.behave = reply
        asked = len(server.log)
        # The command that it names is the one that asks again.
        assert main(shlex.split(AGAIN)[1:]) == 0
        assert capsys.readouterr().err == ""
        assert len(server.log) - asked == LOST
        assert "lost" not in json.loads(Path("out/run.json").read_text(encoding="utf-8"))
        assert LOUD not in Path("out/leaderboard.md").read_text(encoding="utf-8")
        assert main(shlex.split(AGAIN)[1:]) == 0
        assert "Finished already" in capsys.readouterr().out
        assert len(server.log) - asked == LOST


@pytest.mark.slow
def test_whoever_means_it_may_go_on(capsys: pytest.CaptureFixture[str]) -> None:
    with serving(lossy) as server:
        study = study_on(server)
        assert main(["run", study, "--out", "out", "--allow-failures"]) == 0
        assert SENTENCE in capsys.readouterr().err
        assert main(["run", study, "--out", "out", "-q"]) == 3
        assert SENTENCE in capsys.readouterr().err
        assert main(["run", study, "--out", "out", "--json"]) == 3
        assert json.loads(capsys.readouterr().out)["lost"][0]["lost"] == LOST
    assert main(["reparse", "out"]) == 3
    assert AGAIN in capsys.readouterr().err
    assert main(["reparse", "out", "--allow-failures"]) == 0


def test_a_judge_that_is_the_truth_counts_and_keeps_to_the_study(capsys: pytest.CaptureFixture[str]) -> None:
    with serving(lossy) as server:
        study_on(server, "[\"Annotator('1')\"]")
        judge = f"Judge('openai/gpt-4o', base_url='{server.openai}')"
        with Path("s.yaml").open("a", encoding="utf-8") as file:
            file.write(f'truth: "{judge}"\njudging: {{store: own.sqlite}}\n')
        assert main(["run", "s.yaml", "--out", "out"]) == 3
        assert "5 of 24 calls of truth" in capsys.readouterr().err
    assert Path("own.sqlite").exists()


def test_scores_alone_say_it_too(capsys: pytest.CaptureFixture[str]) -> None:
    with serving(lossy) as server:
        command = ["score", "data", f"Judge('openai/gpt-4o', base_url='{server.openai}')", "--out", "s.csv"]
        assert main(command) == 3
        said = capsys.readouterr().err.splitlines()[-1]
        assert main([*command, "--allow-failures"]) == 0
        capsys.readouterr()
        server.behave = reply
        assert main(shlex.split(said.partition("again with: ")[2])[1:]) == 0
    assert (pd.read_csv("s.csv")["status"] == "ok").all()


COMMANDS = (
    ["leaderboard", "out"],
    ["details", "out"],
    ["generators", "out", "--resamples", "10"],
    ["calibrate", "out", "--resamples", "10"],
    ["biases", "out", "--resamples", "20"],
    ["gate", "out", "--evaluator", "judge", "--min", "clear=1", "--max-missing", "0.9"],
)


@pytest.mark.slow
def test_other_commands_say_it_beside_what_they_print(capsys: pytest.CaptureFixture[str]) -> None:
    with serving(lossy) as server:
        main(["run", study_on(server), "--out", "out", "-q"])
    capsys.readouterr()
    for command in COMMANDS:
        main(command)
        assert SENTENCE in capsys.readouterr().err, command
        main([*command, "-q"])
        assert SENTENCE not in capsys.readouterr().err, command
    main([*COMMANDS[-1], "--json"])
    assert SENTENCE in json.loads(capsys.readouterr().out)["notes"]


@pytest.mark.slow
def test_a_server_that_goes_away_is_asked_again_when_it_is_back(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("METAEVAL_CONCURRENCY", "2")
    gone = threading.Event()

    def until_gone(body: dict[str, Any], before: int) -> Act:
        if len(server.log) >= UNITS // 2:
            gone.set()
        return reply(body, before)

    server = Server(until_gone, delay=0.02)
    server.start()
    study = study_on(server, judging="{retries: 0, patience_seconds: 4}")
    stopper = threading.Thread(target=lambda: (gone.wait(), server.stop()))
    stopper.start()
    assert main(["run", study, "--out", "out"]) == 3
    stopper.join()
    err = capsys.readouterr().err
    assert "Traceback" not in err
    assert "again" in err.splitlines()[-1]
    with serving(reply, port=server.port) as back:
        assert main(["run", study, "--out", "out"]) == 0, capsys.readouterr().err
        asked = Counter(s.body["messages"][0]["content"] for s in (*server.log, *back.log))
    assert len(asked) == UNITS
    assert sum(asked.values()) <= UNITS + 2  # those that were under way when it went


@pytest.mark.slow
def test_an_ensemble_of_what_was_lost_is_not_kept_when_the_run_breaks_off(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def interrupted(*_: object, **_named: object) -> None:
        raise KeyboardInterrupt

    with serving(lossy) as server:
        both = "{judge: JUDGE, both: \"Mean(judge, Annotator('1'), skip_missing=True)\"}"
        study = study_on(server, both)
        with monkeypatch.context() as patch:
            patch.setattr("metaeval.study.outputs.write_outputs", interrupted)
            with pytest.raises(StoppedError):
                me.run(study, "out")
        server.behave = reply
        gone_on = me.run(study, "out").scores.frame
        clean = me.run(study, "clean").scores.frame
    pd.testing.assert_frame_equal(gone_on[["evaluator", "score"]], clean[["evaluator", "score"]])
