"""The data set of a finished run, which does not hold it: found again, and checked to be the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metaeval.base.errors import MetaevalError, StudyError, unknown
from metaeval.kinds.kind import kind_named
from metaeval.kinds.study import make_study
from metaeval.study.plan import plan

if TYPE_CHECKING:
    import os

    import pandas as pd

    from metaeval.base.records import DataOfKind, DataSet
    from metaeval.runs.finished import OpenRun

NONE = "(none)"
"""Stands for an empty value of a column."""


def data_of(run: OpenRun, given: str | os.PathLike[str] | None = None) -> DataOfKind:
    """Load the data set that a run scored, without what its study excludes.

    It lies at ``given``, or where the study says.

    Raises
    ------
    MetaevalError
        If it is not there, or is not the one that the run scored.
    """
    study = run.record.study.content()
    if given is not None:
        study["dataset"] = str(given)
    try:
        data = plan(make_study(study), run.folder).data
    except StudyError as error:
        raise MetaevalError(f"{error}; name the data set's folder with --data") from error
    if data.fingerprint != run.record.data.fingerprint:
        raise MetaevalError(
            f"the data set {study['dataset']!r} is not the one that the run {run.folder} scored, or was "
            "changed since: run the study again, or give the folder of the unchanged data set with --data"
        )
    return data


def column_of(run: OpenRun, column: str, given: str | os.PathLike[str] | None = None) -> pd.DataFrame:
    """Return a column of the data set of a run, as `column_in` does."""
    frame = run.scores.frame
    if column in run.scores.keys:  # the run knows these itself
        units = frame[[column]].drop_duplicates().astype(str)
        return units.assign(category=units[column])
    return column_in(data_of(run, given), column, run.record.study.kind)


def column_in(data: DataSet, column: str, kind: str = "explanations") -> pd.DataFrame:
    """Return a column of one of the tables of a data set, such as that of its users.

    Returns
    -------
    DataFrame
        A row per key of that table: its key columns, and ``category``, the column as text; `NONE` if empty.
    """
    tables = kind_named(kind).tables(data)
    for found in tables:
        if column in found.columns:
            by = [k for k in data.keys if k in found.columns]
            text = found[column].astype(object).where(found[column].notna(), "").astype(str).str.strip()
            return found[by].astype(str).assign(category=text.where(text != "", NONE))
    have = dict.fromkeys(str(c) for table in tables for c in table.columns)
    raise MetaevalError(unknown(f"data set {data.name!r} has no column", column, have))
