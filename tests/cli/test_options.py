"""Options of commands that a model declares: the same names, ranges and defaults."""

from __future__ import annotations

import click
import pytest
from pydantic import ValidationError

from metaeval.cli.options import resampled
from metaeval.cli.steps import correlate
from metaeval.engine.files import ENGINES
from metaeval.engine.intervals import Bootstrap


@pytest.mark.parametrize("name", ["resamples", "seed"])
def test_the_options_of_a_bootstrap_are_those_of_its_model(name: str) -> None:
    @click.command()
    @resampled()
    def command() -> None: ...

    option = next(p for p in command.params if p.name == name)
    assert option.default == Bootstrap.model_fields[name].default
    assert isinstance(option.type, click.IntRange)
    for end, beyond in ((option.type.min, -1), (option.type.max, 1)):
        if end is not None:
            assert getattr(Bootstrap.model_validate({name: end}, context={}), name) == end
            with pytest.raises(ValidationError):
                Bootstrap.model_validate({name: end + beyond}, context={})


def test_the_engines_of_correlate_are_those_that_there_are() -> None:
    option = next(p for p in correlate.params if p.name == "engine")
    assert isinstance(option.type, click.Choice)
    assert tuple(option.type.choices) == ENGINES
