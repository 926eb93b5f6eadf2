"""A plain table of scores: CSV, TSV, JSONL, Parquet, or a data set of the hub; long or wide.

Without a map the table is long: the key columns, ``evaluator``, ``aspect`` (may be left out) and ``score``.
Any other table is described by a map, in the words of ``metaeval data import table``.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from metaeval.base.errors import DataError, Problem, nearest, sound
from metaeval.base.formulas import unprotected
from metaeval.base.records import Status
from metaeval.kinds.explanations.data.recorded.recording import ASPECT, EVALUATOR, SCORE, Recording, objects
from metaeval.sources.hub.repository import hub_name, hub_table
from metaeval.sources.tables.entries import FromColumn, ScoreEntry
from metaeval.sources.tables.table import read_table

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    from metaeval.kinds.explanations.data.recorded.score_map import ScoreMap
    from metaeval.sources.tables.table import Table


def read(source: str, score_map: ScoreMap, aspects: Mapping[str, str]) -> Recording:
    """Read a file, a folder that the ``datasets`` library can load, or a data set of the hub.

    See `metaeval.kinds.explanations.data.recorded.adding.Reader`. The map says of which aspect a column is.

    Raises
    ------
    DataError
        If the table cannot be read, or its scores cannot be found without a map.
    """
    name = hub_name(source)
    if name is not None or Path(source).is_dir():
        table = hub_table(name or source, score_map.split)
    else:
        table = sound(read_table(Path(source)))
    columns = [str(c) for c in table.frame.columns]
    if score_map.scores:
        return Recording(table, ())
    if SCORE not in columns:
        message = f"is missing; say which columns hold scores with `scores` of a map{nearest(SCORE, columns)}"
        raise DataError([Problem(table.name, None, SCORE, message)])
    if EVALUATOR not in columns and score_map.evaluator is None:
        message = f"is missing; name the evaluator with --evaluator, or in a map{nearest(EVALUATOR, columns)}"
        raise DataError([Problem(table.name, None, EVALUATOR, message)])
    aspect = FromColumn(column=ASPECT) if ASPECT in columns else None
    statuses = _statuses(table)
    if statuses is not None and Path(table.name).suffix.lower() in (".csv", ".tsv"):
        table = replace(table, frame=table.frame.map(lambda c: unprotected(c) if isinstance(c, str) else c))
    entry = ScoreEntry(columns=[SCORE], evaluator=FromColumn(column=EVALUATOR), aspect=aspect)
    return Recording(table, (entry,), statuses)


def _statuses(table: Table) -> NDArray[np.object_] | None:
    """Return why scores are missing, if all statuses are metaeval's own; else None."""
    if "status" not in table.frame.columns:
        return None
    known = {str(status): status for status in Status}
    cells = table.frame["status"].tolist()
    if any(cell not in known for cell in cells):
        return None
    return objects([None if c == Status.OK else known[c] for c in cells])
