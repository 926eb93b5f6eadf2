"""The commands of the pages: which of them are run, and what must hold of the others."""

from __future__ import annotations

import re
import shlex
import tomllib
from importlib.util import find_spec

import click

from metaeval.cli import cli
from tests.conftest import ROOT

MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
    "optional-dependencies"
]

NOT_RUN = {
    "git clone": "there is no network",
    "make": "it installs; that its recipe is there is checked",
    "pip install": "it installs; that the extra is there is checked",
    "source .venv/bin/activate": "the tests run in their own environment",
    "metaeval data fetch": "there is no network",
    "metaeval data import recexp": "the released files are not in the project",
    "metaeval data import movielens": "the released files are not in the project",
    "metaeval data import coat": "the released files are not in the project",
    "metaeval data import amazon": "the released files are not in the project",
    "metaeval data import mind": "the released files are not in the project",
    "metaeval data import playlists": "the released files are not in the project",
    "metaeval memory data/ml-1m": "it is made of those files, and asks a model",
    "metaeval data import table yelp_academic_dataset_review.json": "they are not in the project",
    "metaeval data import obd": "the released files are not in the project",
    "metaeval init VariErrNLI_train.json": "the released files are not in the project",
    "metaeval init Paraphrase_train.json": "the released files are not in the project",
    "metaeval init CSC_dev.json": "the released files are not in the project",
    "metaeval run studies/lewidi-csc.yaml": "the released files are not in the project",
    "metaeval off-policy data/men-random": "it is made of those files",
    "metaeval data import table ydata-ymusic-rating-study-v1_0-train.txt": "owners give it to researchers",
    "metaeval data import table big_matrix.csv": "the released files are not in the project",
    "metaeval off-policy data/yahoo-r3": "it is made of those files",
    "metaeval data import collection --qrels human=interest.qrels": "its owners give it to researchers",
    "metaeval data import collection --qrels human=human.qrels 'judges/*'": "its files are not ours",
    "metaeval run judged.yaml --engine ray --workers 32": "there is no cluster",
    "metaeval view": "it serves until it is stopped",
    "metaeval mcp": "it serves until its stdin is closed",
    "metaeval golden label": "it serves until it is stopped",
    "metaeval disagreements results/panel --label": "it serves until it is stopped",
    "hf upload": "there is no network",
    "openssl": "it makes a certificate for a server that is not started",
    "docker": "there are no containers; test_compose.py holds the file to its specification",
    "promptfoo": "it is no Python package; docs/examples has what it wrote",
}
"""How commands begin that are not run, and why not. Their words are checked all the same."""

HUB = "hf://"
"""A command that names it is not run; ``tests/data/test_hub.py`` runs such with a hub of its own."""

NEEDS = {
    "metaeval figures": "vl_convert",
    "python grade.py": "inspect_ai",
    "metaeval data add-scores data/sample grade.eval": "inspect_ai",
}
"""Commands that are run where an optional library is installed, and checked elsewhere."""


def is_run(command: str) -> bool:
    """Say whether a command can be run here."""
    if HUB in command or any(command == c or command.startswith(f"{c} ") for c in NOT_RUN):
        return False
    return all(find_spec(library) for begin, library in NEEDS.items() if command.startswith(begin))


def check(command: str) -> None:
    """See that a command that is not run would be understood."""
    program, *words = shlex.split(command)
    if program == "make":
        for target in words:
            assert re.search(rf"^{target}:", MAKEFILE, re.MULTILINE), f"there is no recipe {target!r}"
    elif program == "pip":
        for extra in re.findall(r"\[(\w+)\]", command):
            assert extra in EXTRAS, f"there is no extra {extra!r}"
    elif program == "metaeval":
        parse(words)


def parse(words: list[str]) -> None:
    """Read the words of a command as the command line does, and do nothing.

    Raises
    ------
    click.ClickException
        If it would not understand them.
    """
    command: click.Command = cli
    context = cli.make_context("metaeval", list(words))
    while isinstance(command, click.Group):
        name, found, rest = command.resolve_command(context, [*context._protected_args, *context.args])
        assert found is not None, words
        command, context = found, found.make_context(name, rest, parent=context)
