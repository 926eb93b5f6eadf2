"""The messages of a command beside its result, and its options for them."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from textwrap import TextWrapper
from typing import TYPE_CHECKING, Any

import click

from metaeval.cli.options import flag

if TYPE_CHECKING:
    from metaeval.base.simulation import Simulation

STOPPED = 3  # the exit code of work that can be resumed


def talk(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command ``--quiet`` and ``--json``, which may stand before it too."""
    quiet = flag("--quiet -q", "No messages.", expose_value=False, callback=_note)
    as_json = flag("--json", "Print one JSON object.", expose_value=False, callback=_note)
    return quiet(as_json(command))


def _note(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value:
        context.ensure_object(dict)[str(parameter.name)] = True


def is_on(name: str) -> bool:
    """Whether ``quiet`` or ``json`` was asked for."""
    return bool((click.get_current_context().obj or {}).get(name))


def begin() -> None:
    """Switch the progress bars on, unless ``--quiet`` is."""
    from metaeval.base.progress import show_progress

    show_progress(not is_on("quiet"))


def show(message: str, *, err: bool = False) -> None:
    """Print a message; a terminal gets lines broken at spaces alone, so that a path can be copied."""
    if (sys.stderr if err else sys.stdout).isatty():
        width = shutil.get_terminal_size().columns
        wrapper = TextWrapper(width, break_long_words=False, break_on_hyphens=False)
        message = "\n".join(map(wrapper.fill, message.split("\n")))
    click.echo(message, err=err)


def tell(message: str) -> None:
    """Print a message for people: neither with ``--quiet`` nor beside JSON."""
    if not (is_on("quiet") or is_on("json")):
        show(message)


def tell_address(address: str) -> None:
    """Print where pages are served, with ``--quiet`` too: it is the result."""
    click.echo(json_text({"address": address}) if is_on("json") else address)


def tell_pages(folder: Path, raters: Sequence[str], *addresses: str, overview: str = "") -> None:
    """Print where labels go, the address of the page of each rater, and that of the page on all of them."""
    if not (is_on("quiet") or is_on("json")):
        # A browser may be unable to read the file that it is given (Snap, Flatpak, WSL).
        show(
            f"Each label is saved before the next is asked for, and stands in the tables of {folder} when "
            "this command ends. If no browser opens, open the address yourself. End with Ctrl-C.",
            err=True,
        )
        if overview:
            show(f"How far the raters are, for you alone: {overview}", err=True)
    for rater, address in zip(raters, addresses, strict=True):
        told = f"{rater}: {address}" if addresses[1:] else address
        click.echo(json_text({"rater": rater, "address": address}) if is_on("json") else told)
    if overview and is_on("json"):
        click.echo(json_text({"overview": overview}))


def tell_simulated(simulated: Simulation, printed: str = "") -> None:
    """Print on stderr what is simulated, unless it is in what will be ``printed`` on the terminal."""
    there = sys.stdout.isatty() and simulated.loud in printed
    if simulated and not there and not is_on("quiet"):
        show(simulated.warning, err=True)


def tell_uncalibrated(folder: Path) -> None:
    """Print on stderr which judges of a run have changed since they were calibrated."""
    from metaeval.runs.folder import CALIBRATION

    if not (folder / CALIBRATION).is_file():
        return  # never calibrated; the rest takes long to load
    from metaeval.trust.calibration.calibrating import uncalibrated_note

    if note := uncalibrated_note(folder):
        warn(note)


def tell_lost(*folders: Path) -> None:
    """Print on stderr which replies of judges are missing or not read, for each folder that is a run."""
    from metaeval.runs.folder import RECORD, read_record

    for folder in folders:
        if (folder / RECORD).is_file() and not is_on("quiet"):
            record = read_record(folder)
            for sentence in (*record.lost_sentences, *record.notes):
                warn(sentence)


def end_lost(lost: Sequence[str], *, allowed: bool) -> None:
    """Print on stderr which replies were lost, and end with exit code 3 unless that is allowed."""
    for sentence in lost:
        show(f"metaeval: {sentence}", err=True)
    if lost and not allowed:
        click.get_current_context().exit(STOPPED)


def warn(message: str) -> None:
    """Print a message on stderr, also beside JSON, but not with ``--quiet``."""
    if not is_on("quiet"):
        show(f"metaeval: {message}", err=True)


def end_unread(shares: Mapping[Any, float]) -> None:
    """End with exit code 3 if too much of what a judge said was not read, and say of which."""
    from metaeval.runs.record import MUCH

    many = [f"{100 * share:.1f} % of {judge}" for judge, share in shares.items() if share >= MUCH]
    if many:
        show(f"metaeval: {100 * MUCH:g} % of verdicts or more were not read: {', '.join(many)}", err=True)
        click.get_current_context().exit(STOPPED)


def tell_json(value: object) -> None:
    """Print the result as JSON, with ``--json`` only."""
    if is_on("json"):
        click.echo(json_text(value))


def json_text(value: object) -> str:
    """Return a result as JSON."""
    import json

    return json.dumps(value, ensure_ascii=False, allow_nan=False)
