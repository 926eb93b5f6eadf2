"""One progress bar for anything that may take more than two seconds; written to stderr."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.progress import Progress


class Advance(Protocol):
    """Called with the number of steps that were just done."""

    def __call__(self, steps: int = 1, /, note: str | None = None) -> None:
        """Count ``steps`` as done; ``note`` is what the line says of itself from now on."""


_SHOWN_AFTER = 2.0  # seconds: shorter work needs no bar
_state = {"quiet": True}
_shown: list[Progress] = []  # the bar that is up: work within other work adds a line to it


def show_progress(shown: bool) -> None:
    """Switch all bars of this process on or off; they are off until the command line switches them on."""
    _state["quiet"] = not shown


@contextlib.contextmanager
def progress(description: str, total: int) -> Iterator[Advance]:
    """Yield a function to call as the work goes on; the bar appears once the work has taken two seconds."""
    if _state["quiet"] or total == 0:
        yield _silent
        return
    if _shown:
        with _line(_shown[-1], description, total) as advance:
            yield advance
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    if not console.is_terminal:  # a file or a pipe would only get the bar's last state
        yield _silent
        return
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}"),
        console=console,
        transient=True,
    )
    _shown.append(bar)
    try:
        with _line(bar, description, total) as advance:
            yield advance
    finally:
        _shown.remove(bar)
        if bar.live.is_started:
            bar.stop()


def _silent(_steps: int = 1, /, note: str | None = None) -> None:
    """Show nothing."""


@contextlib.contextmanager
def _line(bar: Progress, description: str, total: int) -> Iterator[Advance]:
    task = bar.add_task(description, total=total, note="")
    started = time.monotonic()

    def advance(steps: int = 1, /, note: str | None = None) -> None:
        bar.advance(task, steps)
        if note is not None:
            bar.update(task, note=note)
        if not bar.live.is_started and time.monotonic() - started > _SHOWN_AFTER:
            bar.start()

    try:
        yield advance
    finally:
        bar.remove_task(task)
