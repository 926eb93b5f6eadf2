"""The data set of a finished run, which does not hold it: found again, and checked to be the same."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pandas as pd

from metaeval.base.errors import MetaevalError, StudyError, unknown
from metaeval.base.records import DataOfKind, DataSet
from metaeval.kinds.kind import kind_named
from metaeval.kinds.study import make_study
from metaeval.study.plan import plan, study_of

if TYPE_CHECKING:
    from metaeval.runs.finished import OpenRun

NONE = "(none)"
"""Stands for an empty value of a column."""


def data_of(run: OpenRun, place: str | os.PathLike[str] | None = None) -> DataOfKind:
    """Load the data set that a run scored, at ``place`` or where its study says, without what it excludes."""
    study = study_of(run.folder, run.record)
    if place is not None:
        study = make_study({**run.record.study.content(), "dataset": str(place)})
    try:
        data = plan(study, run.folder).data
    except StudyError as error:
        raise MetaevalError(f"{error}; name the data set's folder with --data") from error
    if data.fingerprint != run.record.data.fingerprint:
        raise MetaevalError(
            f"the data set {study.place!r} is not the one that the run {run.folder} scored, or was "
            "changed since: run the study again, or give the folder of the unchanged data set with --data"
        )
    return data


def column_of(run: OpenRun, column: str, place: str | os.PathLike[str] | None = None) -> pd.DataFrame:
    """Return a column of the data set of a run, as `column_in` does."""
    if column in run.scores.keys:  # the run knows these itself
        units = run.scores.frame[[column]].drop_duplicates().astype(str)
        return units.assign(category=units[column])
    return column_in(data_of(run, place), column, run.record.study.kind)


def column_in(data: DataSet, column: str, kind: str = "explanations") -> pd.DataFrame:
    """Return a column of one of the tables of a data set, such as that of its users.

    The frame has a row per key of that table: its key columns, and ``category``, the column as text.
    """
    tables = kind_named(kind).about_units(data)
    for table in tables:
        if column in table.columns:
            by = [k for k in data.keys if k in table.columns]
            text = table[column].astype(object).where(table[column].notna(), "").astype(str).str.strip()
            return table[by].astype(str).assign(category=text.where(text != "", NONE))
    have = dict.fromkeys(str(c) for table in tables for c in table.columns)
    raise MetaevalError(unknown(f"data set {data.name!r} has no column", column, have))
