"""What else a run tells beside its leaderboard."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metaeval.kinds.kind import kind_named
from metaeval.runs.finished import open_run

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from metaeval.engine.sheet import Sheet


def details(folder: str | os.PathLike[str]) -> Sequence[Sheet]:
    """Return the details of a finished run.

    Raises
    ------
    RunFolderError
        If it is no run folder, the run is not finished, or its files are not those that it wrote.
    """
    scored = open_run(folder).scored
    return kind_named(scored.study.kind).details(scored)
