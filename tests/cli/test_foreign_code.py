"""Code of someone else that ends Python, or fails in another way: one sentence and exit code 2."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from metaeval.cli import main
from metaeval.kinds.index import VARIABLE
from metaeval.kinds.registry import COMMON
from metaeval.llm.providers import PROVIDERS, Provider
from tests.tiny import FEW, write_study

WAYS = [
    ("sys.exit(0)", "SystemExit: 0"),
    ("sys.exit('bye')", "SystemExit: bye"),
    ("raise SystemExit", "SystemExit"),
    ("raise RuntimeError('it broke')", "RuntimeError: it broke"),
    ("def f(:", "SyntaxError"),
]
CALLED = WAYS[:-1]
"""What code may do when it is called."""


def said(capsys: pytest.CaptureFixture[str], *command: str) -> str:
    """Return the last line of a command that ends with exit code 2, and prints no traceback."""
    assert main(command) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "Traceback" not in printed.err
    return printed.err.splitlines()[-1]


@pytest.mark.parametrize(("way", "why"), WAYS)
def test_a_file_of_a_study(tiny: Path, capsys: pytest.CaptureFixture[str], way: str, why: str) -> None:
    Path("mine.py").write_text(f"import sys\n{way}\ndef f(unit): return 1\n", encoding="utf-8")
    write_study(Path("s.yaml"), evaluators="""["python('mine.py:f')"]""")
    assert f"python('mine.py:f'): mine.py cannot be run: {why}" in said(capsys, "run", "s.yaml")


@pytest.mark.parametrize(("way", "why"), CALLED)
@pytest.mark.parametrize("mark", ["", "metaeval.of_frame"])
def test_a_function_of_a_study(
    tiny: Path, capsys: pytest.CaptureFixture[str], way: str, why: str, mark: str
) -> None:
    code = f"import sys, metaeval\ndef g(units):\n    {way}\nf = {mark}(g)\n"
    Path("mine.py").write_text(code, encoding="utf-8")
    write_study(Path("s.yaml"), evaluators="""["python('mine.py:f')"]""")
    line = said(capsys, "run", "s.yaml")
    assert "the function 'mine.py:f' failed" in line
    assert why in line
    assert not Path("results/s/leaderboard.md").exists()


@pytest.mark.parametrize(("way", "why"), WAYS)
def test_a_kind_that_the_environment_names(
    tiny: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, way: str, why: str
) -> None:
    Path("strange_kind.py").write_text(f"import sys\n{way}\n", encoding="utf-8")
    monkeypatch.setenv(VARIABLE, "strange_kind:KIND")
    write_study(Path("s.yaml"), kind="strange")
    assert f"'strange_kind:KIND' cannot be imported: {why}" in said(capsys, "run", "s.yaml")


CLIENT = """
import sys
{imported}
class Client:
    def __init__(self, connection):
        {made}
    async def complete(self, request):
        {called}
    async def close(self): pass
"""


@pytest.mark.parametrize(("way", "why"), CALLED)
@pytest.mark.parametrize("place", ["imported", "made"])
def test_a_client_that_cannot_be_made(
    tiny: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    way: str,
    why: str,
    place: str,
) -> None:
    provide(monkeypatch, **{place: way})
    write_study(Path("s.yaml"), evaluators="""["Judge('mylab/m')"]""")
    line = said(capsys, "run", "s.yaml")
    assert f"of provider 'mylab' cannot be loaded: {why}" in line


@pytest.mark.parametrize(("way", "why"), CALLED)
def test_a_client_that_is_called(
    tiny: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, way: str, why: str
) -> None:
    provide(monkeypatch, called=way)
    write_study(Path("s.yaml"), **{**FEW, "evaluators": """["Judge('mylab/m')"]"""})
    assert main(["run", "s.yaml"]) == 3
    assert why in capsys.readouterr().err


def provide(monkeypatch: pytest.MonkeyPatch, **does: str) -> None:
    code = CLIENT.format_map({"imported": "", "made": "pass", "called": "pass", **does})
    Path("strange_client.py").write_text(code, encoding="utf-8")
    monkeypatch.syspath_prepend(str(Path.cwd()))
    monkeypatch.delitem(sys.modules, "strange_client", raising=False)
    monkeypatch.setitem(PROVIDERS, "mylab", Provider("strange_client:Client", "http://localhost:9/v1"))


@pytest.mark.parametrize("way", [SystemExit(0), SystemExit("bye"), SystemExit()])
def test_an_evaluator_that_ends_python(
    tiny: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, way: BaseException
) -> None:
    def strange() -> None:
        raise way

    monkeypatch.setitem(COMMON, "Strange", strange)
    line = said(capsys, "score", str(tiny), "Strange()", "--out", "x.csv")
    assert line == "metaeval: code of someone else called sys.exit, which ends no command; leave it out"


@pytest.mark.parametrize("command", [("--help",), ("run", "--help"), ("schema",), ("demo",), ("nothing",)])
def test_without_docstrings_a_command_says_so(command: tuple[str, ...], tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "metaeval", *command],
        env={**os.environ, "PYTHONOPTIMIZE": "2"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("metaeval: Python runs without docstrings")
    assert "set PYTHONOPTIMIZE to 1 or not at all" in line
