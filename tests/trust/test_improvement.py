"""`metaeval improve`: a planted better wording, one where nothing helps, a kill, a budget, own proposers."""

from __future__ import annotations

import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import metaeval as me
from metaeval.base.errors import MetaevalError
from metaeval.cli import main
from metaeval.runs.folder import read_record
from tests.conftest import ROOT
from tests.llm.server import Act, Server, serving

PLANTED = "Count the reasons."
PROPOSING = "## Where the model and people differ"
PER, IN_FLIGHT = 10, 4
PRICE = (100 * 2.5 + 10 * 10) / 1e6  # of the server's usage


def is_proposal(body: dict[str, Any]) -> bool:
    return PROPOSING in body["messages"][0]["content"]


def drawn(text: str) -> float:
    """Return a number from 0 to 1 that depends on a text."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4]) / 2**32


def model(planted: str) -> Callable[[dict[str, Any], int], Act]:
    """Return a model that judges well if its prompt has the planted words; it proposes to write them."""

    def behave(body: dict[str, Any], _before: int) -> Act:
        said = body["messages"][0]["content"]
        if is_proposal(body):
            file = said.split("<prompt>\n")[1].split("\n</prompt>")[0]
            more = f"{planted} Take your time ({int(1e6 * drawn(said))})."
            file = file.replace("## How to answer", f"{more}\n## How to answer")
            return Act(text=f"Here it is:\n```\n{file}\n```")
        reasons = int(re.findall(r"has (\d) reasons", said)[-1])
        noise = 1.2 if PLANTED in said else 4.0
        level = reasons + noise * (drawn(said) - 0.5) * 2
        return Act(text=json.dumps({"clear": int(np.clip(round(level), 1, 5))}))

    return behave


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """A function that writes a study of a judge on a server."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")

    def write(server: Server, users: int = 12, **keys: object) -> str:
        rng = np.random.default_rng(0)
        n = users * PER
        rating = rng.integers(1, 6, n)
        units = pd.DataFrame(
            {"user_id": [f"u{i // PER}" for i in range(n)], "item_id": range(n), "generator": "g"}
        )
        Path("data").mkdir(exist_ok=True)
        Path("data/dataset.yaml").write_text(
            "name: d\nscale: {min: 1, max: 5, integer: true}\naspects: {clear: It is clear.}\n",
            encoding="utf-8",
        )
        texts = [f"Text {i} has {r} reasons for you to watch it tonight." for i, r in enumerate(rating)]
        units.assign(explanation=texts).to_csv("data/explanations.csv", index=False)
        given = units.assign(
            rater="user", aspect="clear", rating=rating, reason=[f"why {i}" for i in range(n)]
        )
        given.to_csv("data/ratings.csv", index=False)
        content = {
            "dataset": "data",
            "evaluators": {"mini": f"Judge('mini', base_url='{server.openai}')", "length": "Length()"},
            "models": {"mini": {"model": "openai/gpt-4o"}},
            "levels": ["dataset"],
            "coefficients": ["pearson"],
            "details": False,
            "tests": None,
            "bootstrap": {"resamples": 20},
            "judging": {
                "concurrency": IN_FLIGHT,
                "store": "replies.sqlite",
                "prices": {"openai/gpt-4o": {"input": 2.5, "output": 10}},
            },
            **keys,
        }
        Path("s.yaml").write_text(json.dumps(content), encoding="utf-8")
        return "s.yaml"

    return write


def told(sheets: list[Any]) -> str:
    return str(sheets[0].title)


def test_a_planted_better_wording_is_found_and_kept_in_an_ordinary_run(
    study: Callable[..., str], capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(model(PLANTED)) as server:
        file = study(server)
        assert main(["improve", file, "--judge", "mini", "--dry-run"]) == 0
        out = capsys.readouterr().out
        assert (
            "6 other prompts at most, written by openai/gpt-4o\n            720 calls of the judge, likely 0."
            in out
        )
        assert not server.log
        assert not Path("results").exists()
        assert main(["improve", file, "--judge", "mini"]) == 0
        out = " ".join(capsys.readouterr().out.split())
        asked = len(server.log)
        again = me.improve(file, judge="mini")
        assert len(server.log) == asked
    found = re.match(
        r"Use mini, candidate \d: on fresh users expect (0\.\d+) \[.*\] \(.*\), counting the search among "
        r"\d; that is 0\.\d+ \[0\.\d+, .*\] more than mini as it is\. No users are sealed, so that .*",
        out,
    )
    assert found, out
    assert " ".join(told(again).split()) in out
    assert 0.8 < float(found[1]) < 1
    record = read_record(Path("results/s-improve"))
    assert record.is_done
    candidates = [name for name in record.evaluators if "candidate" in name]
    assert [*record.evaluators] == ["mini", *candidates]
    for name in candidates:
        prompt = Path(f"results/s-improve/prompts/candidate-{name.split()[-1]}.md")
        assert record.evaluators[name].spec.startswith("Judge('mini', base_url=")
        assert f"prompt='{prompt}'" in record.evaluators[name].spec
        assert PLANTED in prompt.read_text(encoding="utf-8")
    assert "shown" not in again[0].frame
    proposals = [s.body["messages"][0]["content"] for s in server.log if is_proposal(s.body)]
    assert len(proposals) == len({*proposals})
    assert all("a person's reason: why " in said and said.count("<unit>") == 8 for said in proposals)
    assert main(["choose", "results/s-improve"]) == 0
    assert main(["leaderboard", "results/s-improve"]) == 0


def test_the_sealed_test_is_opened_once_and_ends_the_search(
    study: Callable[..., str], capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(model(PLANTED)) as server:
        file = study(server, users=20, sealed=0.4)
        assert main(["improve", file, "--rounds", "1", "--dry-run"]) == 0
        assert "400 calls of the judge" in capsys.readouterr().out
        sheets = me.improve(file, rounds=1)
        asked = len(server.log)
        again = me.improve(file, rounds=9)  # no more than before: it was opened
        assert len(server.log) == asked
    shown = "".join(s.body["messages"][0]["content"] for s in server.log if is_proposal(s.body))
    run = Path("results/s-improve")
    sealed = set(pd.read_parquet(run / "sealed" / "scores.parquet")["item_id"].astype(str))
    assert len(sealed) == 8 * PER
    assert not sealed & set(re.findall(r"Text (\d+) has", shown))
    opened = read_record(run).opened
    assert opened is not None
    assert f"On the 8 sealed users (few users), opened {opened.date} for this one alone, it has" in told(
        sheets
    )
    assert "The search ended: all rounds are over." in told(sheets)
    assert told(again) == told(sheets).replace(
        "all rounds are over", f"what it had sealed was opened {opened.date}"
    )
    assert opened.evaluator in told(sheets)
    assert opened.low < opened.estimate < opened.high
    with serving(model(PLANTED)) as server:
        assert main(["improve", study(server, users=20), "--rounds", "1"]) == 2
    assert "what is sealed cannot change in a run folder" in capsys.readouterr().err


def test_where_nothing_helps_it_says_so_and_opens_nothing(study: Callable[..., str]) -> None:
    with serving(model("Be fair.")) as server:
        sheets = me.improve(study(server, users=20, sealed=0.4), candidates=3)
    assert told(sheets).startswith("Keep mini as it is: ")
    assert read_record(Path("results/s-improve")).opened is None
    assert re.search(r"The search ended: (no prompt of|the expected gain of) round 1 ", told(sheets))
    assert sum(is_proposal(s.body) for s in server.log) == 3


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_killed_in_the_middle_nothing_is_paid_twice(study: Callable[..., str]) -> None:
    with serving(model(PLANTED), delay=0.02) as server:
        file = study(server)
        arguments = [sys.executable, "-m", "metaeval", "improve", file, "--max-usd", "0.5", "--rounds", "2"]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        kills = 0
        for calls in (60, 180):  # while the judge, and while a candidate is scored
            process = subprocess.Popen(arguments, env=environment, stderr=subprocess.PIPE)
            while len(server.log) < calls and process.poll() is None:
                time.sleep(0.01)
            assert process.poll() is None
            process.send_signal(signal.SIGKILL)
            process.communicate()
            kills += 1
        done = subprocess.run(arguments, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        asked = Counter(json.dumps(s.body, sort_keys=True) for s in server.log)
        # Beside what was under way when it was killed, nothing was asked twice.
        assert sum(asked.values()) - len(asked) <= IN_FLIGHT * kills
        n = len(server.log)
        Path("replies.sqlite").rename("other.sqlite")
        Path("results").rename("killed")
        undisturbed = me.improve(file, rounds=2)
        assert len(server.log) == n + len(asked)
    assert " ".join(told(undisturbed).split()) in " ".join(done.stdout.split())
    for name in ("correlations.csv", "leaderboard.md"):
        assert Path("killed/s-improve", name).read_bytes() == Path("results/s-improve", name).read_bytes()


def test_the_budget_of_the_search_is_kept_by_all_its_runs(
    study: Callable[..., str], capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(model(PLANTED)) as server:
        file = study(server)
        assert main(["improve", file, "--max-usd", "0.02"]) == 3
        assert "the budget is used up" in capsys.readouterr().err
        for _ in range(2):  # the second has nothing left to spend
            sheets = me.improve(file, max_usd=0.11)
            assert told(sheets).startswith("Use mini, candidate 1: ")
            assert "The search ended: the budget" in told(sheets)
            assert 0.08 < len(server.log) * PRICE <= 0.11
    assert [*read_record(Path("results/s-improve")).evaluators] == ["mini", "mini, candidate 1"]


OWN = """\
def propose(task):
    assert task.units[0].people and task.units[0].judge
    if task.number == 1:
        return task.prompt.replace("{{ scale_max }}", "5")
    if task.number == 2:
        return task.prompt.replace("## How", task.units[0].texts["explanation"] + "\\n## How")
    if task.number == 3:
        return task.ask("Say something.")
    if task.number == 4:
        return task.prompt
    return task.prompt.replace("## How", "Count the reasons.\\n## How")


def broken(task):
    raise KeyError("it")
"""


def test_a_proposer_of_ones_own_and_what_no_prompt_may_be(
    study: Callable[..., str], capsys: pytest.CaptureFixture[str]
) -> None:
    def behave(body: dict[str, Any], before: int) -> Act:
        said = body["messages"][0]["content"]
        return Act(text="No.") if said == "Say something." else model(PLANTED)(body, before)

    with serving(behave) as server:
        file = study(server)
        Path("mine.py").write_text(OWN, encoding="utf-8")
        sheets = me.improve(file, proposer="python('mine.py:propose')", candidates=5, rounds=1)
        assert told(sheets).startswith("Use mini, candidate 5: ")
        why = " ".join(sheets[0].notes)
        assert main(["improve", file, "--proposer", "python('mine.py:broken')", "--out", "other"]) == 2
        assert "python('mine.py:broken') failed: KeyError: 'it'" in capsys.readouterr().err
        assert main(["improve", file, "--proposer", "python('mine.py:none')"]) == 2
    for n, reason in (
        (1, "the header names the placeholder 'scale_max', which is not used"),
        (2, "it quotes a text that it was made from"),
        (3, "it is not the text of a prompt file"),
        (4, "it says the same as one before it"),
    ):
        assert f"Candidate {n} was left out: {reason}" in why


def test_a_prompt_whose_replies_cannot_be_read_is_left_out(study: Callable[..., str]) -> None:
    def behave(body: dict[str, Any], before: int) -> Act:
        said = body["messages"][0]["content"]
        mute = "Take your time" in said and not is_proposal(body) and "(5" not in said
        return Act(text="I would rather not.") if mute else model(PLANTED)(body, before)

    with (
        serving(behave) as server,
        pytest.raises(MetaevalError, match="Candidate 1 was left out: none of the first 20"),
    ):
        me.improve(study(server), candidates=1)


@pytest.mark.parametrize(
    ("options", "keys", "says"),
    [
        (["--judge", "mina"], {}, "the study has no judge 'mina'; did you mean 'mini'?"),
        ([], {"evaluators": ["Length()"]}, "nobody says what is to be improved: it has no judge"),
        ([], {"evaluators": ["Judge('mini')", "Judge('mini', seed=1)"]}, "name one with --judge"),
        ([], {"users": 5}, "nothing can be chosen: 5 users are too few"),
        (["--proposer", "maxi"], {}, "there is no model 'maxi'"),
        ([], {"coefficients": ["kendall"], "levels": ["generator"]}, "nothing can be chosen by"),
    ],
)
def test_what_cannot_be_done_is_said_before_a_proposal_is_paid(
    options: list[str],
    keys: dict[str, Any],
    says: str,
    study: Callable[..., str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    with serving(model(PLANTED)) as server:
        assert main(["improve", study(server, **keys), *options]) == 2
    assert says in capsys.readouterr().err
    assert not any(is_proposal(s.body) for s in server.log)
