"""Options that several commands share, each declared once."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Callable

    Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

PATH = click.Path(path_type=Path)
"""A file or folder; its reader checks it."""
PLACE = click.Path()
"""Text, as it may be a name such as ``hf://owner/name``; a shell completes the names of files."""


out_folder = click.option("--out", type=PATH, required=True, help="Data-set folder to write.")
force = click.option("--force", is_flag=True, help="Replace an existing data set.")


def rising(number: Callable[[str], float], what: str) -> Callable[..., tuple[float, float] | None]:
    """Return what reads two rising numbers, such as ``0:3``."""

    def read(
        context: click.Context, parameter: click.Parameter, text: str | None
    ) -> tuple[float, float] | None:
        if text is None:
            return None
        low, _, high = text.partition(":")
        try:
            ends = float(number(low)), float(number(high))
        except (ValueError, OverflowError):
            ends = 0.0, 0.0
        if not -math.inf < ends[0] < ends[1] < math.inf:
            raise click.BadParameter(f"{text!r} is not {what}", context, parameter)
        return ends

    return read


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


def served(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command that serves pages ``--port`` and ``--no-browser``."""
    port = click.option(
        "--port", type=click.IntRange(0, 65535), default=0, help="Port on 127.0.0.1.  [default: any free one]"
    )
    none = click.option("--no-browser", is_flag=True, help="Print the address; do not open a browser.")
    return port(none(command))


propensity_source = click.option(
    "--propensity",
    "source",
    type=click.Choice(["logged", "fitted"]),
    help="Source of propensities.  [default: logged, if the log has them]",
)
refits = click.option(
    "--refits",
    type=click.IntRange(0, 10_000),
    default=20,
    show_default=True,
    help="Resamples in which models are fitted again, for intervals.",
)
run_argument = click.argument("run_folder", metavar="RUN", type=PATH)
aspects = several("--aspect", "aspects", help="Aspect to report; may be given again.  [default: all]")
seed = click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
allow_failures = click.option(
    "--allow-failures", is_flag=True, help="Exit with 0 even if calls of judges brought no reply."
)
