"""Options that several commands share, each declared once."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Callable

    Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

PATH = click.Path(path_type=Path)
"""A file or folder; its reader checks it."""


def several(flag: str, name: str, **attributes: Any) -> Decorator:
    """Return an option that may be given again; ``name`` holds all that was given."""
    return click.option(flag, name, multiple=True, **attributes)


def judges(what: str) -> Decorator:
    """Return ``--judge``, with a sentence that says what the judges are for."""
    return several("--judge", "judges", metavar="NAME", help=f"{what}  [default: the run's judges]")


def resampled(resamples: int = 10_000) -> Decorator:
    """Return the ``--resamples`` and ``--seed`` of `metaeval.engine.intervals.Bootstrap`."""
    # Their ranges stand here again, since the model takes too long to load for --help; a test compares them.
    how_many = click.option(
        "--resamples", type=click.IntRange(1, 10_000_000), default=resamples, show_default=True
    )
    return lambda command: how_many(seed(command))


run_argument = click.argument("run_folder", metavar="RUN", type=PATH)
aspects = several("--aspect", "aspects", help="This aspect only; may be given again.")
seed = click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
allow_failures = click.option(
    "--allow-failures", is_flag=True, help="Exit with 0 though calls of judges brought no reply."
)
