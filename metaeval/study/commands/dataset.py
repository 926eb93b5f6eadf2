"""The data set of a finished run, which holds none itself: found again, and seen to be the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metaeval.base.errors import MetaevalError, StudyError, nearest
from metaeval.base.records import KEYS
from metaeval.kinds.study import make_study
from metaeval.study.plan import plan

if TYPE_CHECKING:
    import os

    import pandas as pd

    from metaeval.base.records import ExplanationSet
    from metaeval.runs.finished import OpenRun

NONE = "(none)"
"""What stands for a unit that has no value in a column."""


def data_of(run: OpenRun, given: str | os.PathLike[str] | None = None) -> ExplanationSet:
    """Load the data set that a run scored, without what its study excludes.

    Parameters
    ----------
    run
        The run.
    given
        Where the data set lies, if not where the study says.

    Raises
    ------
    MetaevalError
        If it is not there, or is not the one that the run scored.
    """
    study = run.record.study.content()
    if given is not None:
        study["dataset"] = str(given)
    try:
        data: ExplanationSet = plan(make_study(study), run.folder).data
    except StudyError as error:
        raise MetaevalError(f"{error}; --data says where the data set of a run lies") from error
    if data.fingerprint != run.record.data.fingerprint:
        raise MetaevalError(
            f"the data set {study['dataset']!r} is not the one that the run {run.folder} scored, or was "
            "changed since: run the study again, or say with --data where the data set lies as it was"
        )
    return data


def column_of(run: OpenRun, column: str, given: str | os.PathLike[str] | None = None) -> pd.DataFrame:
    """Return a column of the explanations, or of the users, by unit.

    Returns
    -------
    DataFrame
        The key columns that it goes by, no two rows with the same, and ``category``, the column as text;
        `NONE` where it is empty.

    Raises
    ------
    MetaevalError
        As `data_of`, or if there is no such column.
    """
    frame = run.scores.frame
    if column in KEYS and column in frame.columns:  # the run knows these itself
        units = frame[[column]].drop_duplicates().astype(str)
        return units.assign(category=units[column])
    return column_in(data_of(run, given), column)


def column_in(data: ExplanationSet, column: str) -> pd.DataFrame:
    """Return a column of the explanations of a data set, or of its users, as `column_of` does.

    Raises
    ------
    MetaevalError
        If there is no such column.
    """
    found, by = data.explanations, list(data.keys)
    if column not in found.columns and data.users is not None:
        found, by = data.users, ["user_id"]
    if column not in found.columns:
        have = [str(c) for c in data.explanations.columns if c != "explanation"]
        have += [str(c) for c in found.columns if c not in have]
        raise MetaevalError(
            f"data set {data.name!r} has no column {column!r}{nearest(column, have)} "
            f"(it has: {', '.join(have)})"
        )
    text = found[column].astype(object).where(found[column].notna(), "").astype(str).str.strip()
    return found[by].astype(str).assign(category=text.where(text != "", NONE))
