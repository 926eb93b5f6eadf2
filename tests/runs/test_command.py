"""Commands that are declared: their options, what they write, and what their sheets say is simulated."""

from __future__ import annotations

from pathlib import Path
from pkgutil import resolve_name
from typing import Annotated

import click
import pandas as pd
import pytest

from metaeval.base.errors import MetaevalError
from metaeval.base.simulation import Simulation
from metaeval.cli.frame import command_of, options_of
from metaeval.cli.index import COMMANDS, SENTENCES
from metaeval.cli.trust import disagreements, gate, improve
from metaeval.engine.sheet import Column, Sheet
from metaeval.runs.command import Names, Printed, Resamples, Typed, _by_names, command

UNREAL = Simulation(False, ("a", "b"))


class Some(Typed):
    """Options of a command that no one offers."""

    names: Annotated[Names, "--name NAME"] = ()
    """Who it is
    about."""
    pair: Annotated[tuple[str, str] | None, "A B"] = None
    resamples: Resamples = 10


@command("some")
def some_of(place: Annotated[Path, "FILE"], how: Some) -> Printed:
    """Say what was given."""
    frame = pd.DataFrame({"who": [*how.names], "other": [f"{how.names[0]} / x"] * len(how.names)})
    columns = (Column("who", "Who"),)
    sheets = [
        Sheet("all", "All", frame, columns),
        Sheet("who", "Who", frame, columns, about=("who", "nothing")),
        Sheet("both", "Both", frame, columns, about=("other",)),
        Sheet("nobody", "Nobody", frame, columns, about=()),
        None,
    ]
    return Printed(sheets, UNREAL, {place / "it.txt": f"{how.resamples}"})


def test_the_columns_that_a_sheet_is_about_say_what_is_simulated(tmp_path: Path) -> None:
    every, who, both, nobody = some_of(tmp_path, ["b", "c"], resamples=3)
    said = [sheet.simulated.evaluators for sheet in (every, who, both, nobody)]
    assert said == [("a", "b"), ("b",), ("b",), ()]
    assert (tmp_path / "it.txt").read_text(encoding="utf-8") == "3"
    assert some_of(tmp_path, Some(names=("b",)))[1].simulated == who.simulated


def test_python_hears_what_is_not_allowed(tmp_path: Path) -> None:
    with pytest.raises(MetaevalError, match="resamples is 0: Input should be greater than or equal to 1"):
        some_of(tmp_path, resamples=0)
    with pytest.raises(MetaevalError, match="resample is 0: Extra inputs are not permitted"):
        some_of(tmp_path, resample=0)


class Two(Typed):
    """Options of a command that is about two evaluators."""

    evaluators: Annotated[tuple[str, str] | None, "A B"] = None
    judge: Annotated[str | None, "NAME"] = None


def test_evaluators_may_be_given_by_their_short_names_or_not_at_all() -> None:
    names = {"Judge('simulated/one')": "one"}
    (long,) = names
    given = Two(evaluators=("one", "BLEU"), judge="one")
    assert _by_names(given, names) == Two(evaluators=(long, "BLEU"), judge=long)
    assert _by_names(Two(), names) == Two()
    assert _by_names(Some(names=("one",)), names) == Some(names=("one",))


def test_the_model_makes_the_options() -> None:
    @click.command()
    @options_of(Some)
    def typed() -> None: ...

    names, pair, resamples = (p for p in typed.params if isinstance(p, click.Option))
    assert (names.opts, names.metavar, names.multiple) == (["--name"], "NAME", True)
    assert names.help == "Who it is about."
    assert (pair.opts, pair.nargs, pair.metavar, pair.help) == (["--pair"], 2, "A B", None)
    assert isinstance(resamples.type, click.IntRange)
    assert (resamples.type.min, resamples.type.max, resamples.default) == (1, 10_000_000, 10)


def test_the_index_says_what_the_declarations_say() -> None:
    declared = [words for words, place in COMMANDS.items() if ":" in place]
    commands = {words: command_of(words) for words in declared} | {
        "disagreements": disagreements,
        "gate": gate,
        "improve": improve,
    }
    assert {words: one.get_short_help_str(limit=1000) for words, one in commands.items()} == SENTENCES
    for words in declared:
        assert resolve_name(f"metaeval.{COMMANDS[words]}").name == words
