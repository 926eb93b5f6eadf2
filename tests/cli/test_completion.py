"""What a shell completes, asked of the program under the name that it is installed by."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.shell_completion import BashComplete

from metaeval.cli import COMPLETE, cli

SCRIPT = Path(sys.executable).with_name("metaeval")
pytestmark = pytest.mark.skipif(not SCRIPT.exists(), reason="the program is not installed beside this Python")
PLACES = [  # what is typed, and some of what may come next
    (("metaeval", "lead"), ["leaderboard"]),
    (("metaeval", "golden", ""), ["sample", "label", "export", "import"]),
    (("metaeval", "leaderboard", "--f"), ["--format"]),
    (("metaeval", "leaderboard", "--format", ""), ["txt", "md", "csv", "tex", "html", "json", "latex"]),
    # An error would end the line that is typed.
    (("metaeval", "cake", ""), cli.list_commands(click.Context(cli))),
]


def told(command: list[str], **variables: str) -> str:
    path = f"{SCRIPT.parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        command,
        env={**os.environ, "PATH": path, **variables},
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    assert "Traceback" not in done.stderr
    return done.stdout


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_bash() -> None:
    """All places in one shell, by the line that the README says."""
    typed = [
        f"COMP_WORDS=({' '.join(word or repr('') for word in words)}); COMP_CWORD={len(words) - 1}; "
        'COMPREPLY=(); _metaeval_completion metaeval; echo "${COMPREPLY[@]}"'
        for words, _ in PLACES
    ]
    script = "\n".join(['eval "$(_METAEVAL_COMPLETE=bash_source metaeval)"', "complete -p metaeval", *typed])
    registered, *completed = told(["bash", "--norc", "-c", script]).splitlines()
    assert registered.endswith("-F _metaeval_completion metaeval")
    for (_, wanted), line in zip(PLACES, completed, strict=True):
        assert line.split() == wanted


@pytest.mark.parametrize(
    "command",
    [
        *("init", "site", "score", "correlate", "off-policy", "store copy"),
        *("golden sample", "golden label", "data show", "data check", "data add-scores"),
    ],
)
def test_files_and_folders_are_completed(command: str) -> None:
    (found,) = BashComplete(cli, {}, "metaeval", COMPLETE).get_completions(command.split(), "")
    assert found.type == "file"


@pytest.mark.skipif(sys.platform == "win32", reason="Windows sends no signals")
def test_ctrl_c_while_a_shell_completes_is_silent() -> None:
    script = (
        "import os, signal, click.shell_completion as c; from metaeval.cli import main; "
        "c.shell_complete = lambda *_: os.kill(os.getpid(), signal.SIGINT); main([])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, COMPLETE: "bash_complete"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, "", "")
