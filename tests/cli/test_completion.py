"""What a shell completes, asked of the program under the name that it is installed by."""

from __future__ import annotations

import os
import pty
import select
import shutil
import subprocess
import sys
import time
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
    (("metaeval", "leaderboard", "--format", ""), ["txt", "md", "csv", "tex", "html", "json"]),
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
        timeout=60,
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
    ("shell", "head"), [("zsh", "#compdef metaeval"), ("fish", "complete --no-files --command metaeval")]
)
def test_other_shells(shell: str, head: str) -> None:
    assert head in told(["metaeval"], _METAEVAL_COMPLETE=f"{shell}_source")
    words = {"zsh": ("metaeval lead", "1"), "fish": ("metaeval lead", "lead")}[shell]
    asked = {"COMP_WORDS": words[0], "COMP_CWORD": words[1]}
    assert "leaderboard" in told(["metaeval"], _METAEVAL_COMPLETE=f"{shell}_complete", **asked)


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_files_of_any_name_in_a_terminal(tmp_path: Path) -> None:
    (tmp_path / "Hotel (Responses) 1.csv").touch()
    terminal, shells = pty.openpty()
    path = f"{SCRIPT.parent}{os.pathsep}{os.environ['PATH']}"
    with subprocess.Popen(
        ["bash", "--norc", "-i"],
        stdin=shells,
        stdout=shells,
        stderr=shells,
        cwd=tmp_path,
        env={**os.environ, "PATH": path},
        start_new_session=True,
    ) as process:
        os.write(terminal, b'eval "$(_METAEVAL_COMPLETE=bash_source metaeval)"; echo read""y\n')
        seen, typed, end = b"", False, time.monotonic() + 60
        while rb"\ 1.csv" not in seen and time.monotonic() < end:
            if select.select([terminal], [], [], 0.5)[0]:
                seen += os.read(terminal, 4096)
            if b"ready" in seen and not typed:
                typed = bool(os.write(terminal, b"metaeval init Ho\t"))
        process.kill()
    for end_of_it in (terminal, shells):
        os.close(end_of_it)
    assert rb"metaeval init Hotel\ \(Responses\)\ 1.csv" in seen


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
