"""Studies whose judges are asked by workers, against a model's server."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pandas as pd
import pytest

import metaeval as me
from metaeval.base.errors import MetaevalError, StoppedError
from metaeval.cli import main
from tests.judging.workers.conftest import is_worker, kill
from tests.kinds.explanations.judge.test_judge import KEY
from tests.llm.postgres import PASSWORD, Postgres
from tests.llm.server import PROSE, Act, Server, error
from tests.tiny import write_study

pytestmark = pytest.mark.slow

pytest.importorskip("ray", reason="no Ray: install metaeval[ray]")
SAME = ("correlations.csv", "leaderboard.csv", "leaderboard.md", "leaderboard.tex", "truth.parquet")
RAY = ("--engine", "ray", "--workers")


def answer(body: dict[str, Any], before: int) -> Act:
    """Rate by the length of what is asked; some replies cannot be used at first."""
    number = len(str(body["messages"])) % 5 + 1
    return PROSE if number == 2 and not before else Act(text=f"clear: {number}\nfitting: {number}")


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def study(server: Server, store: str = "s.sqlite", **judging: object) -> str:
    judge = f"Judge('openai/m', base_url='{server.openai}')"
    options = "".join(f", {name}: {value}" for name, value in judging.items())
    path = write_study(
        Path("study.yaml"),
        evaluators=f'{{judge: "{judge}", both: "Mean(judge, Annotator(\'1\'))"}}',
        judging=f"{{store: {store!r}, prices: {{openai/m: {{input: 2, output: 8}}}}{options}}}",
        bootstrap="{resamples: 20}",
        details="false",
    )
    return str(path)


def unlike(units: int) -> None:
    """Give each unit of the tiny data set a text of its own, and have more of them."""
    for name in ("explanations", "ratings", "scores"):
        frame = pd.read_csv(f"tiny/{name}.csv", keep_default_na=False)
        parts = [frame.assign(item_id=frame["item_id"] + f"-{i}") for i in range(units // 18)]
        frame = pd.concat(parts, ignore_index=True)
        if name == "explanations":
            frame["explanation"] += [f" ({'very ' * (i % 4)}good {i})" for i in range(len(frame))]
        frame.to_csv(f"tiny/{name}.csv", index=False)


@pytest.mark.usefixtures("tiny", "ray_cluster")
def test_workers_find_what_one_process_finds(capfd: pytest.CaptureFixture[str]) -> None:
    unlike(72)
    with Server(answer) as server:
        assert main(["run", study(server, "one.sqlite"), "--out", "one"]) == 0
        asked = Counter(str(seen.body) for seen in server.log)
        assert set(asked.values()) == {1, 2}
        server.log.clear()
        server._before.clear()
        capfd.readouterr()
        assert main(["run", study(server, "two.sqlite"), "--out", "two", *RAY, "2"]) == 0
        assert Counter(str(seen.body) for seen in server.log) == asked
        out, err = capfd.readouterr()
        assert "\n2 evaluators on 72 units" in out
        assert err == "SIMULATED DATA. The data are simulated: these numbers say nothing about people.\n"
        assert main(["run", study(server, "two.sqlite"), "--out", "two"]) == 0
        assert "Finished already" in capfd.readouterr().out
    for name in SAME:
        assert Path("one", name).read_bytes() == Path("two", name).read_bytes(), name
    one, two = (pd.read_parquet(f"{run}/scores.parquet").drop(columns="seconds") for run in ("one", "two"))
    pd.testing.assert_frame_equal(one, two, check_exact=True)
    assert not list(Path().glob("*.lock"))


@pytest.mark.usefixtures("tiny", "ray_cluster")
def test_lost_calls_are_told_as_those_of_one_process(
    capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(body: dict[str, Any], before: int) -> Act:
        if "temperature" in body:
            return error(400, "unsupported_parameter", "Unsupported parameter: 'temperature'")
        not_this = error(400, "invalid_prompt", "not this one")
        return not_this if "Why not" in str(body) else answer(body, before)

    with Server(refuse) as server:
        path = study(server)
        assert main(["run", path, "--out", "one"]) == 3
        one = capsys.readouterr().err
        assert main(["run", path, "--out", "two", *RAY, "2"]) == 3
        two = capsys.readouterr().err
        assert two == one.replace("--out one", "--out two --engine ray --workers 2")
        assert "not this one" in two
        (of_one, of_two) = caplog.messages
        assert "from now on it is asked: without temperature" in of_one == of_two


@pytest.mark.usefixtures("tiny", "ray_cluster")
def test_a_model_that_answers_no_more_stops_its_judges_alone(capsys: pytest.CaptureFixture[str]) -> None:
    unlike(72)

    def behave(body: dict[str, Any], before: int) -> Act:
        gone = error(401, "invalid_api_key", "no such key")
        return gone if body["model"] == "gone" else answer(body, before)

    said, others = [], []
    with Server(behave) as server:
        for out, options in (("one", []), ("two", [*RAY, "2"])):
            path = Path(study(server, f"{out}.sqlite"))
            gone = f"gone: \"Judge('openai/gone', base_url='{server.openai}')\", "
            path.write_text(path.read_text().replace("evaluators: {", "evaluators: {" + gone))
            assert main(["run", str(path), "--out", out, *options]) == 3
            said.append(capsys.readouterr().err.splitlines()[-1].replace(f"in {out};", "in OUT;"))
            others.append(Counter(str(seen.body) for seen in server.log if seen.body["model"] == "m"))
            server.log.clear()
            server._before.clear()
    assert said[0] == said[1]
    assert "openai/gone takes no call (invalid_api_key)" in said[0]
    assert "the scores of 2 of 3 evaluators are kept" in said[0]
    assert others[0] == others[1]


@pytest.mark.usefixtures("tiny", "ray_cluster")
def test_a_budget_and_an_unknown_price_stop_a_run() -> None:
    unlike(72)
    with Server(answer) as server:
        with pytest.raises(StoppedError, match="the budget of 20 calls is used up and remaining calls"):
            me.run(study(server, max_calls=20), "out", engine="ray", workers=2)
        assert len(server.log) == 20
        unpriced = Path(study(server, max_usd=1))
        unpriced.write_text(unpriced.read_text().replace("openai/m:", "other:"))
        with pytest.raises(MetaevalError, match=r"price is unknown; set `judging\.prices`: ") as wrong:
            me.run(unpriced, "out", engine="ray", workers=1)
        assert wrong.value.exit_code == 2


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--engine", "ray", "--batch"], "by batches or by engine 'ray', not by both; leave one out"),
        (["--engine", "ray", "--offline"], "--offline sends nothing"),
        (["--workers", "2"], "are for engine 'ray'; name it too"),
        (["--engine", "ray", "--workers", "0"], "0 is not in the range"),
        (["--engine", "spark"], "'spark'"),
        (["--engine", "ray", "--address", ""], "address is ''; give that of a Ray cluster, such as"),
        (
            ["--engine", "ray", "--address", "10.0.0.1:6379"],
            "cannot share the file s.sqlite; name a database",
        ),
        (["--engine", "ray", "--address", "10.0.0.1:6379", "--dry-run"], "cannot share the file"),
    ],
)
def test_what_workers_cannot_do_is_said_before_anything_starts(
    options: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with Server(answer) as server:
        assert main(["run", study(server), "--out", "out", *options]) == 2
    assert said in capsys.readouterr().err
    assert not Path("out").exists()
    assert not Path("s.sqlite").exists()


@pytest.mark.usefixtures("tiny")
def test_without_ray_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("metaeval.judging.cluster.find_spec", lambda _name: None)
    with Server(answer) as server, pytest.raises(MetaevalError, match=r"pip install 'metaeval\[ray\]'"):
        me.run(study(server), "out", engine="ray")


@pytest.fixture
def logs() -> Iterator[str]:
    """A folder for all that Ray writes; its sockets lie there too, and their paths must be short."""
    folder = tempfile.mkdtemp(prefix="mv", dir="/tmp")
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


def wait_until(holds: Callable[[], object], seconds: float = 60.0) -> None:
    until = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.02)


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize("interrupted", [False, True])
def test_a_cluster_that_is_gone_ends_a_run_with_a_sentence_and_ctrl_c_ends_it_at_once(
    marked: tuple[dict[str, str], Callable[[], list[int]]],
    logs: str,
    monkeypatch: pytest.MonkeyPatch,
    interrupted: bool,
) -> None:
    unlike(540)
    mark, alive = marked
    for name, value in {**mark, "RAY_TMPDIR": logs}.items():
        monkeypatch.setenv(name, value)
    with Server(answer, delay=0.2) as server:
        command = ["run", study(server, concurrency=2), "--out", "o", *RAY, "2"]
        process = subprocess.Popen(
            [sys.executable, "-m", "metaeval", *command], stdout=-1, stderr=-1, text=True
        )
        wait_until(lambda: process.poll() is not None or len(server.log) >= 10, 300)
        assert process.poll() is None, process.communicate()[1]
        (raylet,) = [
            one for one in alive() if b"/raylet/raylet\0" in Path(f"/proc/{one}/cmdline").read_bytes()
        ]
        kill(raylet)
        if interrupted:
            time.sleep(1)
            process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=300)  # it takes seconds, and patience is longer
    assert (process.returncode, "Traceback" in err) == (3, False), err
    assert interrupted or "workers died" in err
    assert "evaluators are kept in o; run the same command again" in err
    wait_until(lambda: not any(map(is_worker, alive())))


@pytest.mark.usefixtures("tiny")
def test_a_run_that_is_interrupted_or_killed_leaves_nobody_and_goes_on_in_a_cluster(
    postgres: Postgres,
    marked: tuple[dict[str, str], Callable[[], list[int]]],
    logs: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from ray.cluster_utils import Cluster

    unlike(108)
    store, (mark, alive) = postgres.new(), marked
    assert quote(PASSWORD, safe="") in store
    for name, value in {**mark, "RAY_TMPDIR": logs}.items():
        monkeypatch.setenv(name, value)
    with Server(answer, delay=0.05) as server:
        command = [sys.executable, "-m", "metaeval", "run", study(server, store, concurrency=4), "--out", "o"]
        command += [*RAY, "2"]

        def begin() -> subprocess.Popen[str]:
            process = subprocess.Popen(command, stdout=-1, stderr=-1, text=True)
            before = len(server.log)
            wait_until(lambda: process.poll() is not None or len(server.log) >= before + 30)
            return process

        process = begin()
        sent = time.monotonic()
        process.send_signal(signal.SIGINT)
        _, err = process.communicate()
        assert (process.returncode, time.monotonic() - sent < 15) == (3, True), err
        assert "run the same command again" in err
        assert "Traceback" not in err
        wait_until(lambda: not alive())
        process = begin()
        process.kill()
        process.communicate()
        wait_until(lambda: not any(map(is_worker, alive())))  # Ray's own helpers take a minute

        def run_at(address: str) -> subprocess.CompletedProcess[str]:
            there = [*command, "--address", address]
            return subprocess.run(there, capture_output=True, text=True, check=False)

        nobody = run_at("127.0.0.1:1")
        assert (nobody.returncode, nobody.stderr.count("\n")) == (2, 1)
        assert "no Ray cluster can be used at 127.0.0.1:1 ([Errno 111] Connection refused)" in nobody.stderr
        monkeypatch.setenv("METAEVAL_STORE", store)  # where each machine has the password
        cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
        try:
            cluster.add_node(num_cpus=1)
            done = run_at(cluster.address)
        finally:
            cluster.shutdown()
        assert (done.returncode, "108 units" in done.stdout) == (0, True), done.stderr
        twice = sum(n - 1 for n in Counter(str(seen.body) for seen in server.log).values())
        prose = sum(seen.act is PROSE for seen in server.log)
        assert twice <= prose + 2 * 2 * 4
    words = (PASSWORD.encode(), quote(PASSWORD, safe="").encode())
    written = [p for p in (*Path(logs).rglob("*"), *Path("o").rglob("*")) if p.is_file()]
    assert any("worker" in p.name for p in written)
    assert not [p for p in written if any(word in p.read_bytes() for word in words)]
    assert "postgresql://" in json.loads(Path("o/run.json").read_text())["study"]["judging"]["store"]
