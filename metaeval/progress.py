"""One progress bar for anything that may take more than two seconds; written to stderr."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator


class Advance(Protocol):
    """Called with the number of steps that were just done."""

    def __call__(self, steps: int = 1, /) -> None:
        """Count ``steps`` as done."""


_SHOWN_AFTER = 2.0  # seconds: shorter work needs no bar
_state = {"quiet": True}


def show_progress(shown: bool) -> None:
    """Switch all bars of this process on or off; they are off until the command line switches them on."""
    _state["quiet"] = not shown


@contextlib.contextmanager
def progress(description: str, total: int) -> Iterator[Advance]:
    """Yield a function to call as the work goes on; the bar appears once the work has taken two seconds."""
    if _state["quiet"] or total == 0:
        yield lambda _steps=1, /: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    task = bar.add_task(description, total=total)
    started = time.monotonic()

    def advance(steps: int = 1, /) -> None:
        bar.advance(task, steps)
        if not bar.live.is_started and time.monotonic() - started > _SHOWN_AFTER:
            bar.start()

    try:
        yield advance
    finally:
        bar.stop()
