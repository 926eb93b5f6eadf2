"""A loop with judges, simulated and behind the SDKs on local servers: interrupted, resumed, replayed."""

import json
import signal
import time
import zlib
from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from data.make_exposure import simulate
from metaeval.cli import main
from metaeval.kinds.exposure.commands import make_pairs
from metaeval.kinds.exposure.data.loading import load, save
from tests.kinds.exposure.test_evaluators import later, told
from tests.llm.server import Act, error, serving
from tests.study.test_judges import command

pytestmark = pytest.mark.slow

STUDY = """\
kind: exposure
dataset: data
evaluators:
  coin: Random(seed=0)
  judge: "MatchedPairs({judge}, fields=['title'])"
bootstrap: {{resamples: 50}}
tests: null
details: false
synthesis: {{steps: 6}}
judging: {{store: s.sqlite, concurrency: 4}}
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("OPENAI_API_KEY", "DASHSCOPE_API_KEY"):
        monkeypatch.setenv(name, "sk-test")
    save(simulate(users=60, items=80).data, "data")
    make_pairs("data", per_user=2)


def study(judge: str) -> None:
    Path("study.yaml").write_text(STUDY.format(judge=judge))


@pytest.mark.parametrize(
    ("provider", "stages"), [("openai", ["round-0", "round-1"]), ("dashscope", ["round-1"])]
)
def test_interrupted_in_any_round_it_goes_on_and_asks_nothing_twice(
    provider: str, stages: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(later, delay=0.02) as server:
        study(f"'{provider}/m', base_url='{getattr(server, provider)}'")
        for stage in stages:
            process = command("loop", "study.yaml", "--out", "out")
            while not Path("out", stage, ".parts").exists() and process.poll() is None:
                time.sleep(0.01)
            asked = len(server.log)
            while len(server.log) < asked + 10 and process.poll() is None:
                time.sleep(0.01)
            process.send_signal(signal.SIGINT)
            _, said = process.communicate(timeout=240)
            assert process.returncode == 3
            assert f"kept in out/{stage}; run the same command again to go on" in said
            assert "Traceback" not in said
            assert not Path("out/loop.csv").exists()
        assert main(["loop", "study.yaml", "--out", "out"]) == 0
        times = Counter(json.dumps(seen.body, sort_keys=True) for seen in server.log)
    assert sum(times.values()) - len(times) <= 2 * 4  # what was under way when it was interrupted
    assert main(["loop", "study.yaml", "--out", "again", "--offline"]) == 0  # nobody is there any more
    assert Path("again/loop.csv").read_bytes() == Path("out/loop.csv").read_bytes()
    capsys.readouterr()
    changes = pd.read_csv("out/loop.csv").set_index(["name", "measure"])
    titles = load("data").items.set_index("item_id")["title"]
    for number, column in enumerate(("before", "after")):
        data = load("data" if number == 0 else "out/synthetic")
        first, second = (titles[data.table[side]].to_numpy() for side in ("first", "second"))
        right = ((first > second) == (data.ratings["rating"] > 0)).mean()
        assert changes.loc[("judge", "PairAUC"), column] == pytest.approx(right)


def test_calls_that_brought_no_reply_stop_the_loop_until_they_are_allowed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def losing(body: dict[str, Any], before: int) -> Act:
        lost = not before and zlib.crc32(told(body)[-1].encode()) % 5 == 0
        return error(400, "bad") if lost else later(body, before)

    with serving(losing) as server:
        study(f"'openai/m', base_url='{server.openai}'")
        for stage in ("round-0", "round-1"):
            assert main(["loop", "study.yaml", "--out", "out"]) == 3
            assert f"The loop stops after {stage}; run the same command again" in capsys.readouterr().err
            assert not Path("out/loop.csv").exists()
        assert main(["loop", "study.yaml", "--out", "out"]) == 0
    Path("s.sqlite").unlink()
    with serving(losing) as server:
        study(f"'openai/m', base_url='{server.openai}'")
        assert main(["loop", "study.yaml", "--out", "allowed", "--allow-failures"]) == 0
    all_, some = (pd.read_csv(f"{out}/loop.csv").set_index(["name", "measure"]) for out in ("out", "allowed"))
    assert 0 < some.loc[("judge", "PairAUC"), "n_users"] <= all_.loc[("judge", "PairAUC"), "n_users"]
    assert some.loc[("judge", "PairAUC"), "before"] != all_.loc[("judge", "PairAUC"), "before"]
