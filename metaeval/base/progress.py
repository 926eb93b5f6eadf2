"""Progress of the work, shown on stderr."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.progress import Progress


class Advance(Protocol):
    """Called with the number of steps that were just done."""

    def __call__(self, steps: int = 1, /, note: str | None = None) -> None:
        """Count ``steps`` as done; ``note`` is what the line says of itself from now on."""


_NAME = 30  # characters of a line's description before what it says, where several say something
_state = {"quiet": True}
_shown: list[Progress] = []  # the display that is up: work within other work adds a line to it


def show_progress(shown: bool) -> None:
    """Switch all displays of this process on or off; they are off until the command line switches them on."""
    _state["quiet"] = not shown


@contextlib.contextmanager
def progress(description: str, total: int | None = None) -> Iterator[Advance]:
    """Yield a function to call as the work goes on; a line shows the work until it is done.

    ``total`` is the number of steps, if it is known.
    """
    if _state["quiet"] or total == 0:
        yield _silent
        return
    if _shown:
        with _line(_shown[-1], description, total) as advance:
            yield advance
        return
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:  # a file or a pipe would only get the display's last state
        yield _silent
        return
    with _display(console) as shown:
        _shown.append(shown)
        try:
            with _line(shown, description, total) as advance:
                yield advance
        finally:
            _shown.remove(shown)


def _silent(_steps: int = 1, /, note: str | None = None) -> None:
    """Show nothing."""


def _display(console: Console) -> Progress:
    """Return a display of lines; a description gives way where there is no room, counts and times do not."""
    from rich import progress as parts
    from rich.table import Column
    from rich.text import Text

    class Lines(parts.Progress):
        """The lines, and below them what they say of themselves, each over the whole width."""

        def get_renderables(self) -> Iterable[RenderableType]:
            yield self.make_tasks_table(self.tasks)
            notes = [(t.description, t.fields["note"]) for t in self.tasks if t.fields["note"]]
            if len(self.tasks) + len(notes) > console.height:
                return  # each line of the table says more than what a part of them would
            for of, note in notes:
                whose = f"{of[:_NAME]}: " if len(notes) > 1 else ""
                yield Text(f"  {whose}{note}", no_wrap=True, overflow="ellipsis")

    # Each but the description keeps the width that it needs.
    kept = Column(no_wrap=True, min_width=1)
    return Lines(
        parts.SpinnerColumn(table_column=kept),
        parts.TextColumn(
            "{task.description}",
            markup=False,
            table_column=Column(ratio=1, no_wrap=True, overflow="ellipsis"),
        ),
        parts.BarColumn(12, table_column=kept),
        parts.TextColumn("{task.fields[count]}", markup=False, table_column=kept),
        parts.TimeElapsedColumn(table_column=kept),
        parts.TimeRemainingColumn(table_column=kept),
        console=console,
        expand=True,
        transient=True,
        redirect_stdout=False,
    )


@contextlib.contextmanager
def _line(shown: Progress, description: str, total: int | None) -> Iterator[Advance]:
    done = 0

    def count() -> str:
        return "" if total is None else f"{done:,}/{total:,}"

    task = shown.add_task(description, total=total, note="", count=count())

    def advance(steps: int = 1, /, note: str | None = None) -> None:
        nonlocal done
        done += steps
        shown.update(task, advance=steps, count=count())
        if note is not None:
            shown.update(task, note=note)

    try:
        yield advance
    finally:
        shown.remove_task(task)
