"""Recorded verdicts, from file to file, and against gold preferences."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from metaeval.kinds.explanations.data.studies.verdicts import import_verdicts, kept_columns, read_verdicts
from metaeval.study.steps import check_writable, write_frame
from metaeval.trust.verdicts.accuracy import accuracy_sheet

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    import pandas as pd

    from metaeval.engine.sheet import Sheet
    from metaeval.kinds.explanations.data.studies.verdicts import WinnerOf


def import_file(
    path: str | os.PathLike[str],
    map_path: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    winner_of: WinnerOf,
) -> pd.DataFrame:
    """Import recorded verdicts and write them, long, to a file; return them.

    The parameters are those of `metaeval.kinds.explanations.data.studies.verdicts.import_verdicts`, and the
    file to write: its suffix is its format.

    Raises
    ------
    MetaevalError
        If the file, the map or the suffix of ``out`` is wrong.
    """
    check_writable(Path(out))
    verdicts = import_verdicts(path, map_path, winner_of=winner_of)
    write_frame(verdicts, Path(out))
    return verdicts


def accuracy_of(
    path: str | os.PathLike[str], by: Sequence[str] = (), *, resamples: int = 10_000, seed: int = 0
) -> list[Sheet]:
    """Hold the verdicts in a file against its gold preferences.

    Parameters
    ----------
    path
        A file that `import_file` wrote, with gold preferences.
    by
        Columns that name a group; those that the import kept, if empty.
    resamples, seed
        Of users, or of items in verdicts without users.

    Raises
    ------
    MetaevalError
        If the file is none of verdicts, or has no gold preference.
    """
    verdicts = read_verdicts(path)
    return [accuracy_sheet(verdicts, by or kept_columns(verdicts), resamples=resamples, seed=seed)]
