"""A study of judges of slates from end to end: calls that are lost, and a replay without a server."""

from __future__ import annotations

import itertools
import json
import re
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest

from metaeval.cli import main
from metaeval.kinds.slates.data.loading import save
from metaeval.kinds.slates.data.simulated import simulate
from tests.kinds.slates.judge.test_judge import told
from tests.llm.server import Act, error, serving

if TYPE_CHECKING:
    from tests.llm.server import Server

STUDY = """\
kind: slates
dataset: data
models: {{own: {{model: openai/m, base_url: "{address}"}}}}
evaluators:
  duels: "Slates('own', fields=['year'])"
  rates: "SlateRating('own', fields=['year'], scale=(1, 100))"
  coin: Random(seed=0)
  oracle: Oracle()
bootstrap: {{resamples: 50}}
tests: {{permutations: 50}}
details: false
judging: {{store: s.sqlite, retries: 0}}
"""


def years(text: str) -> float:
    found = re.findall(r"year: (\d+)", text)
    return sum(map(int, found)) / len(found)


def newer(body: dict[str, Any], _before: int = 0) -> Act:
    """Prefer what is newer, in ratings too."""
    text = told(body).rpartition("## The ")[2]
    if "<slate>" in text:
        return Act(text=json.dumps({"rating": round(years(text) - 1930)}))
    first, second = (years(part) for part in text.split("</list-a>"))
    return Act(text=json.dumps({"preference": "A" if first >= second else "B", "reason": "Newer."}))


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    save(simulate(users=4, items=60), "data", "csv")


def run(server: Server, out: str, *more: str) -> int:
    Path("study.yaml").write_text(STUDY.format(address=server.openai))
    return main(["run", "study.yaml", "--out", out, *more])


def test_a_study_resumes_replays_and_finds_verdicts_that_agree_with_ratings() -> None:
    calls, lost = itertools.count(), []

    def losing(body: dict[str, Any], before: int) -> Act:
        lists = re.findall(r"<list-.>\n(.*?)\n</list", told(body), re.DOTALL)
        if len(lost) < 20 and next(calls) % 5 == 4 and len(set(lists)) == len(lists):
            lost.append(lists)
            return error(400, "bad")
        return newer(body, before)

    with serving(losing) as server:
        assert run(server, "run") == 3
        asked = len(server.log)
        assert run(server, "run") == 0
        assert len(server.log) - asked == len(lost) == 20
    again = pd.read_csv("run/regret.csv")
    assert run(server, "offline", "--offline") == 0  # nobody is there any more
    assert Path("offline/regret.csv").read_text() == Path("run/regret.csv").read_text()
    assert list(again.columns[:9]) == [
        *("evaluator", "task", "regret", "ci_low", "ci_high"),
        *("accuracy", "weighted_accuracy", "n_duels", "n_users"),
    ]
    regret = again.set_index(["evaluator", "task"])["regret"].sort_index()
    assert (regret["oracle"] == 0).all()
    assert regret["duels"].gt(0).all()
    coherence = pd.read_csv("run/coherence.csv").set_index(["evaluator", "axiom", "task"])
    coherence = coherence["estimate"].sort_index()
    assert coherence["duels", "rating_transitivity"].min() > 0.99
    assert coherence["duels", "asymmetry"]["T1"] > 0.9
    assert coherence["duels", "irreflexivity"].eq(0).all()  # of two alike it always says the first
    keys = set(" ".join(pd.read_parquet("run/scores.parquet")["call"].dropna()).split())
    with sqlite3.connect("s.sqlite") as store:
        assert keys == {key for (key,) in store.execute("SELECT key FROM replies WHERE error_kind IS NULL")}
