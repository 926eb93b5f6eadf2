"""The options of imports of duels: how users, candidates and duels are drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from metaeval.cli.options import several

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from metaeval.kinds.slates.data.sampling import Sampling

# The defaults stand here again, since the model takes too long to load for --help; a test compares them.
_OPTIONS = (
    several(
        "--tasks",
        "tasks",
        type=click.Choice(["T1", "T2", "T3"]),
        help="Tasks: T1 which items, T2 which order, T3 both.  [default: all]",
    ),
    click.option("--size", type=int, help="Items per slate.  [default: 5]"),
    click.option("--slates", type=int, help="Slates per user and task.  [default: 4]"),
    click.option("--duels", type=int, help="Pairs of slates to draw.  [default: all]"),
    click.option(
        "--by", help="How to draw: by user, or by difficulty (spread over similarity).  [default: user]"
    ),
    click.option("--equal", is_flag=True, default=None, help="Keep slates of equal utility."),
    click.option(
        "--identical", type=int, help="Duels of a slate with itself, per user and task.  [default: 1]"
    ),
    click.option("--repeats", type=int, help="Duels to repeat, per user and task.  [default: 1]"),
    click.option("--users", type=click.IntRange(0), help="Users to draw; 0 for all.  [default: 100]"),
    click.option("--candidates", type=int, help="Newest items per user, for slates.  [default: 20]"),
    click.option("--history", type=int, help="Items before them, for the history.  [default: 20]"),
    click.option(
        "--embeddings",
        metavar="MODEL",
        help="Model of sentence-transformers, for similarity.  [default: TF-IDF]",
    ),
    click.option("--seed", type=click.IntRange(0), help="Seed of all draws.  [default: 0]"),
)


def sampled(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options of `Sampling`."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def given_of(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that were given."""
    return {name: value for name, value in options.items() if value is not None and value != ()}


def sampling(options: Mapping[str, Any]) -> Sampling:
    """Return the model of the options that were given."""
    from metaeval.kinds.slates.data.sampling import Sampling

    return Sampling(**given_of(options))
