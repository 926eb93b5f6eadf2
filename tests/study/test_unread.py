"""Replies that come and cannot be read: a run stops, or says how many, which, and what they may change."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from scipy.stats import chi2_contingency, pearsonr

import metaeval as me
from metaeval.cli import main
from metaeval.kinds.explanations.data.loading import save
from tests.conftest import ROOT
from tests.kinds.explanations.judge.test_judge import KEY
from tests.llm.server import Act, Server, serving
from tests.study.runs import QUICK
from tests.study.test_report import payload_of
from tests.tiny import write_study

UNITS = 80
RATINGS = [1 + n * 7 % 5 for n in range(UNITS)]
LOUD = "LOST REPLIES."


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A data set whose texts all differ, so that each is a call of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    units = pd.DataFrame(
        itertools.product([f"u{n}" for n in range(10)], ["i1", "i2"], ["a", "b", "c", "d"]),
        columns=["user_id", "item_id", "generator"],
    )
    texts = [f"Text number {n}." for n in range(UNITS)]
    ratings = units.assign(rater="user", aspect="clear", rating=RATINGS)
    save(me.from_frames(units.assign(explanation=texts), ratings, scale=(1, 5)), "data", "csv")


def numbers(body: dict[str, Any]) -> list[int]:
    """Return which texts a prompt shows."""
    return [int(n) for n in re.findall(r"Text number (\d+)\.", str(body["messages"]))]


def reading(unread: Callable[[int], bool]) -> Callable[[dict[str, Any], int], Act]:
    """Answer nearly as people did; nothing that can be read where it is said so."""

    def behave(body: dict[str, Any], _before: int) -> Act:
        n, *_ = numbers(body)
        clear = min(5, RATINGS[n] + n % 2)
        return Act(text=f"Rather {n}-ish, I think." if unread(n) else json.dumps({"clear": clear}))

    return behave


def study_on(server: Server, judge: str = "Judge", **keys: str) -> str:
    spec = f"{judge}('openai/gpt-4o', base_url='{server.openai}')"
    keys = {**QUICK, **keys, "dataset": "data", "evaluators": f'{{good: "{spec}", length: "Length()"}}'}
    write_study(Path("s.yaml"), **{**keys, "details": "true", "missing": "{score: drop}"})
    return "s.yaml"


def record_of(out: str) -> Any:
    return json.loads(Path(out, "run.json").read_text(encoding="utf-8"))


def test_a_server_with_wrong_keys_stops_a_run(capsys: pytest.CaptureFixture[str]) -> None:
    wrong = reading(lambda _: False)

    def behave(body: dict[str, Any], before: int) -> Act:
        return Act(text=str(wrong(body, before).text).replace("clear", "clarity_of_it"))

    with serving(behave) as server:
        assert main(["run", study_on(server), "--out", "out"]) == 3
        assert len(server.log) == 20
        said = capsys.readouterr().err.splitlines()[-1]
        assert re.search(r"""replies to good can be read, such as '\{"clarity_of_it": \d\}' \(no """, said)
        assert "asked for was clear: integers from 1 to 5. " in said
        assert said.endswith("run the same command again to go on")
        server.behave = wrong
        assert main(["run", "s.yaml", "--out", "out"]) == 0
        assert len(server.log) == 20 + UNITS
        assert "unread" not in record_of("out")


@pytest.fixture
def low() -> list[int]:
    """Texts with the lowest rating."""
    return [n for n in range(UNITS) if RATINGS[n] == 1]


def test_a_few_unread_replies_are_noted(low: list[int], capsys: pytest.CaptureFixture[str]) -> None:
    with serving(reading(lambda n: n in low[:4])) as server:
        assert main(["run", study_on(server), "--out", "out"]) == 0
        assert len(server.log) == UNITS + 2 * 4  # what was read is not asked again
    note, *_ = [line for line in capsys.readouterr().out.splitlines() if "could not be read" in line]
    (found,) = record_of("out")["unread"]
    assert (found["replies"], found["unread"], found["statuses"]) == (UNITS, 4, {"unparsed": 4})
    assert found["examples"] == [f"Rather {n}-ish, I think." for n in low[:3]]
    (test,) = found["tests"]  # one aspect, and no order
    assert test["by"] == "truth"
    assert test["shares"] == {"1": 0.25, "2": 0, "3": 0, "4": 0, "5": 0}
    table = [[12, 16, 16, 16, 16], [4, 0, 0, 0, 0]]
    assert test["p"] == pytest.approx(chi2_contingency(table).pvalue)
    assert note.startswith("5.0 % of the replies to good (4 of 80) could not be read (unparsed 4), such as ")
    assert "The loss depends on the truth (25.0 % at 1, " in note
    # Bounds are what the study says of a judge that gave these scores.
    board = pd.read_csv("out/correlations.csv").query("level == 'dataset' and coefficient == 'pearson'")
    printed = board.set_index(["aspect", "evaluator"])["estimate"]["clear", "good"]
    scores = pd.read_parquet("out/scores.parquet").query("evaluator == 'good'")["score"]
    bounds = found["bounds"]
    assert bounds["estimate"] == pytest.approx(printed)
    for fill, value in zip((1, 5), bounds["if_all"].values(), strict=True):
        assert value == pytest.approx(pearsonr(scores.fillna(fill), RATINGS).statistic)
    assert list(bounds["if_all"]) == ["the lowest", "the highest"]
    # The same is said wherever evaluators are.
    board_text = Path("out/leaderboard.md").read_text(encoding="utf-8")
    assert board_text.count(note.replace("_", r"\_")) == 1
    assert re.search(r"\| unread \|.*\n.*\n.* good .* 5.0 % \|", board_text)
    assert LOUD not in board_text
    payload = payload_of(Path("out/report.html"))
    assert note in payload["policy"]
    (unread,) = [cost for cost in payload["costs"] if cost["name"].startswith("unread")]
    assert unread["values"] == [0.05, None]
    assert pd.read_csv("out/cost.csv")["unread"].tolist() == [0.05]
    assert "| 5.0 % | — | — |" in Path("out/cost.md").read_text(encoding="utf-8")
    # A finished run says it again, and so does its leaderboard.
    assert main(["run", "s.yaml", "--out", "out"]) == 0
    assert note in capsys.readouterr().out
    assert main(["leaderboard", "out", "--format", "md"]) == 0
    assert note in capsys.readouterr().out
    assert main(["compare", "out", "out"]) == 0
    assert note in capsys.readouterr().err


def test_many_unread_replies_end_with_code_3(low: list[int], capsys: pytest.CaptureFixture[str]) -> None:
    lost = {*low, 1, 2, 3, 4}
    with serving(reading(lambda n: n in lost)) as server:
        assert main(["run", study_on(server), "--out", "out"]) == 3
    assert len(lost) == 20
    said = capsys.readouterr().err.splitlines()[-1].removeprefix("metaeval: ")
    assert said.startswith("25.0 % of the replies to good (20 of 80) could not be read (unparsed 20)")
    head = Path("out/leaderboard.md").read_text(encoding="utf-8").split("\n## ")[0]
    assert f"> **{LOUD}** 25.0 % of the replies to good" in head
    assert Path("out/details.md").read_text(encoding="utf-8").startswith(f"> **{LOUD}** 25.0 %")
    assert payload_of(Path("out/report.html"))["lost"] == [said]
    assert record_of("out")["status"] == "done"
    assert main(["run", "s.yaml", "--out", "out", "--allow-failures"]) == 0
    assert said in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "judge"),
    [
        ("slates", "Slates('simulated/a,unparsed=0.1', fields=['genres'], attempts=1)"),
        ("exposure", "MatchedPairs('simulated/a,unparsed=0.1', fields=['genres'], attempts=1)"),
        ("relevance", "Relevance('simulated/a,unparsed=0.1', fields=['genres'], attempts=1)"),
    ],
)
def test_other_kinds_say_it_too(kind: str, judge: str, capsys: pytest.CaptureFixture[str]) -> None:
    data = ROOT / "data" / kind
    truth = "Labels('human')" if kind == "relevance" else None
    write_study(
        Path("k.yaml"),
        kind=kind,
        dataset=str(data),
        evaluators=f'{{good: "{judge}", bad: "Random(seed=0)"}}',
        **({"truth": truth} if truth else {}),
        bootstrap="{resamples: 20}",
        tests="{permutations: 200}",
    )
    assert main(["run", "k.yaml", "--out", "out"]) == 0
    out = capsys.readouterr().out
    (found,) = record_of("out")["unread"]
    assert 0.05 < found["unread"] / found["replies"] < 0.15
    lowest, highest = found["bounds"]["if_all"].values()
    assert lowest != highest
    assert 0.05 < pd.read_csv("out/cost.csv")["unread"][0] < 0.15
    assert ("order" in {test["by"] for test in found["tests"]}) is (kind != "relevance")
    assert "of the replies to good" in out
