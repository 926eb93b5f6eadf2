"""Every problem of a file that no other command could list, a line each."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import click

from metaeval.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterator

_LISTED = 100  # problems of one kind come by the thousand


@contextlib.contextmanager
def every_problem() -> Iterator[None]:
    """Print each of several problems on a line of its own, and exit; a single one is raised as it is."""
    try:
        yield
    except DataError as error:
        if len(error.problems) < 2:
            raise
        for problem in error.problems[:_LISTED]:
            click.echo(f"metaeval: {problem}", err=True)
        more = len(error.problems) - _LISTED
        if more > 0:
            click.echo(f"metaeval: … and {more:,} more", err=True)
        raise SystemExit(error.exit_code) from error
