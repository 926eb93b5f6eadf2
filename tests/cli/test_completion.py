"""What a shell completes, asked of the program under the name that it is installed by."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest

from metaeval.cli import cli

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


@pytest.mark.skipif(shutil.which("fish") is None, reason="there is no fish")
def test_fish() -> None:
    typed = [f"echo -- (complete -C '{' '.join(words)}' | string split -f 1 \\t)" for words, _ in PLACES]
    script = "\n".join(["_METAEVAL_COMPLETE=fish_source metaeval | source", *typed])
    lines = told(["fish", "--no-config", "-c", script]).splitlines()
    for (_, wanted), line in zip(PLACES, lines, strict=True):
        assert set(line.split()) == set(wanted)


@pytest.mark.parametrize(
    ("shell", "head"), [("zsh", "#compdef metaeval"), ("fish", "complete --no-files --command metaeval")]
)
def test_other_shells(shell: str, head: str) -> None:
    assert head in told(["metaeval"], _METAEVAL_COMPLETE=f"{shell}_source")
    words = {"zsh": ("metaeval lead", "1"), "fish": ("metaeval lead", "lead")}[shell]
    asked = {"COMP_WORDS": words[0], "COMP_CWORD": words[1]}
    assert "leaderboard" in told(["metaeval"], _METAEVAL_COMPLETE=f"{shell}_complete", **asked)
