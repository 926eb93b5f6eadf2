"""Options that several commands share, each declared once."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import click

from metaeval.base.errors import MetaevalError

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

PATH = click.Path(path_type=Path)
"""A file or folder; its reader checks it."""
PLACE = click.Path()
"""Text, as it may be a name such as ``hf://owner/name``; a shell completes the names of files."""


def option(
    flags: str,
    about: str = "",
    kind: object = None,
    *,
    read: Callable[[Any], Any] | None = None,
    **more: Any,
) -> Decorator:
    """Return an option; its help is ``about``, and ``more`` is as of `click.option`.

    In ``flags``, such as ``--format -f suffix``, a word without a dash is the name of the value. ``kind`` is
    a type, or the words that are allowed. ``read`` makes the value of what is given, or raises an error.
    """
    kind = click.Choice(kind) if isinstance(kind, list | tuple) else kind
    shown = more.get("default") not in (None, "", ())

    def value(context: click.Context, parameter: click.Parameter, given: Any) -> Any:
        try:
            return given if read is None or given is None else read(given)
        except (ValueError, MetaevalError) as error:
            raise click.BadParameter(str(error), context, parameter) from error

    known = {"show_default": shown, "callback": value, **more}
    return click.option(*flags.split(), help=about or None, type=kind, **known)


def flag(flags: str, about: str, **attributes: Any) -> Decorator:
    """Return an option without a value."""
    return click.option(*flags.split(), help=about, is_flag=True, **attributes)


def several(flags: str, about: str, kind: object = None, **attributes: Any) -> Decorator:
    """Return an option that may be given again; its value holds all that was given."""
    return option(flags, about, kind, multiple=True, **attributes)


out_folder = option("--out", "Data-set folder to write.", PATH, required=True)
force = flag("--force", "Replace an existing data set.")


def rising(number: Callable[[str], float], what: str) -> Callable[[str], tuple[float, float]]:
    """Return what reads two rising numbers, such as ``0:3``."""

    def read(text: str) -> tuple[float, float]:
        low, _, high = text.partition(":")
        with contextlib.suppress(ValueError, OverflowError):
            if -math.inf < (ends := (float(number(low)), float(number(high))))[0] < ends[1] < math.inf:
                return ends
        raise ValueError(f"{text!r} is not {what}")

    return read


scale_option = partial(
    option, "--scale", read=rising(float, "two rising numbers, such as 1:5"), metavar="MIN:MAX"
)


def words(text: str) -> list[str]:
    """Read words with commas between them."""
    return [word.strip() for word in text.split(",") if word.strip()]


def numbers(number: Callable[[str], float], such: str) -> Callable[[str], list[float]]:
    """Return what reads numbers with commas between them, such as ``10,20``."""

    def read(text: str) -> list[float]:
        try:
            return [number(word) for word in words(text)]
        except ValueError:
            whole = "whole " if number is int else ""
            raise ValueError(f"{text!r} is not a list of {whole}numbers, such as {such}") from None

    return read


def resampled(resamples: int = 10_000) -> Decorator:
    """Return the ``--resamples`` and ``--seed`` of `metaeval.engine.intervals.Bootstrap`."""
    # Their ranges stand here again, since the model takes too long to load for --help; a test compares them.
    how_many = option("--resamples", "", click.IntRange(1, 10_000_000), default=resamples)
    return lambda command: how_many(seed(command))


def served(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command that serves pages ``--port`` and ``--no-browser``."""
    port = option(
        "--port",
        "Port on 127.0.0.1.  [default: any free one]",
        click.IntRange(0, 65535),
        default=0,
        show_default=False,
    )
    none = flag("--no-browser", "Print the address; do not open a browser.")
    return port(none(command))


propensity_source = option(
    "--propensity source",
    "Source of propensities.  [default: logged, if the log has them]",
    ["logged", "fitted", "naive-bayes"],
)
refits = option(
    "--refits",
    "Resamples in which models are fitted again, for intervals.",
    click.IntRange(0, 10_000),
    default=20,
)
run_argument = click.argument("folder", metavar="RUN", type=PATH)
seed = option("--seed", "", click.IntRange(0), default=0)
allow_failures = flag("--allow-failures", "Exit with 0 even if judges lost calls or many replies.")
# The defaults stand here again, since the model takes too long to load for --help; a test compares them.
_SAMPLING = (
    several(
        "--tasks tasks", "Tasks: T1 which items, T2 which order, T3 both.  [default: all]", ["T1", "T2", "T3"]
    ),
    option("--size", "Items per slate.  [default: 5]", int),
    option("--slates", "Slates per user and task.  [default: 4]", int),
    option("--duels", "Pairs of slates to draw.  [default: all]", int),
    option("--by", "How to draw: by user, or by difficulty (spread over similarity).  [default: user]"),
    flag("--equal", "Keep slates of equal utility.", default=None),
    option("--identical", "Duels of a slate with itself, per user and task.  [default: 1]", int),
    option("--repeats", "Duels to repeat, per user and task.  [default: 1]", int),
    option("--users", "Users to draw; 0 for all.  [default: 100]", click.IntRange(0)),
    option("--candidates", "Newest items per user, for slates.  [default: 20]", int),
    option("--history", "Items before them, for the history.  [default: 20]", int),
    option(
        "--embeddings", "Model of sentence-transformers, for similarity.  [default: TF-IDF]", metavar="MODEL"
    ),
    option("--seed", "Seed of all draws.  [default: 0]", click.IntRange(0)),
)


def sampled(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options of `Sampling`."""
    for option in reversed(_SAMPLING):
        command = option(command)
    return command


def given_of(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that were given."""
    return {name: value for name, value in options.items() if value is not None and value != ()}
