"""Every command on a data set and on a run of every kind of study: a result, or one sentence."""

from __future__ import annotations

import gc
import shutil
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

import metaeval as me
from metaeval.base.files import bundled
from metaeval.cli import cli, main
from metaeval.runs.server import LocalServer

pytestmark = pytest.mark.slow

SHIPPED = {"explanations": "sample", "relevance": "relevance", "slates": "slates", "exposure": "exposure"}
STUDIES = {
    "explanations": {"evaluators": ["Length()", "Judge('simulated/a')"]},
    "relevance": {"evaluators": ["Labels('judge')", "Popularity()"], "truth": "Labels('human')"},
    "slates": {"evaluators": ["Recorded('sharp')", "Recorded('cyclic')"]},
    "exposure": {"evaluators": ["System('taste-2')", "Popularity()"]},
}
OPTIONS = {"--policy": "uniform", "--scale": "1:5", "--rater": "ann", "--column": "reply"}
"""What stands for an option that must be given and is no path."""
FURTHER = {
    "calibrate": [["--truth", "Annotator('human')"]],
    "compare": [["--by", "dataset"], ["--by", "a,b"]],
    "gate": [["--min", "relevance=0.1"]],
    "init": [["--yes", "--out", "started"]],
}
"""Options of a command → others to try it with."""
ELSEWHERE = ("demo", "providers", "data fetch", "store prune", "store info")
"""Commands that take no folder, or ask the net."""


def commands(command: click.Command, *words: str) -> Iterator[tuple[str, click.Command]]:
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            if (found := command.get_command(context, name)) is not None:
                yield from commands(found, *words, name)
    else:
        yield " ".join(words), command


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data set and a run of each kind."""
    place = tmp_path_factory.mktemp("places")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("METAEVAL_STORE", str(place / "replies.sqlite"))
        for kind, name in SHIPPED.items():
            shutil.copytree(bundled(f"data/{name}"), place / "data" / kind)
            options = {"bootstrap": None, "tests": None, "details": False}
            study = {"kind": kind, "dataset": str(place / "data" / kind), **STUDIES[kind], **options}
            me.run(study, place / "run" / kind)
    return place


@pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning"
)  # of `datasets`: files left open
@pytest.mark.parametrize(("words", "command"), [c for c in commands(cli) if c[0] not in ELSEWHERE])
def test_it_is_a_result_or_one_sentence(
    words: str,
    command: click.Command,
    places: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    shutil.copytree(places, here := tmp_path / "here")
    monkeypatch.chdir(here)
    monkeypatch.setenv("METAEVAL_STORE", str(here / "replies.sqlite"))
    monkeypatch.setattr(LocalServer, "show", lambda *_, **__: None)
    for target in [f"{what}/{kind}" for what in ("data", "run") for kind in SHIPPED]:
        given = words.split()
        for one in command.params:
            if isinstance(one, click.Argument):
                given.append("Length()" if one.human_readable_name == "EVALUATOR..." else target)
            elif one.required:
                name = one.opts[0]
                choices = getattr(one.type, "choices", None)
                value = choices[0] if choices else OPTIONS.get(name, target)
                if name == "--out":
                    value = "out.csv" if words in ("score", "data read-replies") else "out"
                given += [name, f"a={target}" if name == "--qrels" else value]
        if any("--resamples" in one.opts for one in command.params):
            given += ["--resamples", "9"]
        for more in [[], *FURTHER.get(words, [])]:
            code = main([*given, *more])
            told = capsys.readouterr().err
            assert code in (0, 1, 2, 4), (given, told)  # 4: an audit that cannot tell
            assert code != 2 or all(line.startswith("metaeval: ") for line in told.splitlines()), told
            for made in ("out", "out.csv", "started"):
                shutil.rmtree(here / made, ignore_errors=True)
    gc.collect()
