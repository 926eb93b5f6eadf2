"""Recorded scores of a data set that stay in their file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from metaeval.base.records import Status
from metaeval.engine.out_of_core.database import ROW, database, quoted

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import pandas as pd

    from metaeval.engine.out_of_core.files import Parquet
    from metaeval.engine.out_of_core.loading import Loaded


def first_rows(scores: Parquet) -> pd.DataFrame:
    """Return the first row of each evaluator and aspect, in the order of the file."""
    with database() as db:
        types = db.view("scores", scores)
        groups = ", ".join(quoted(c) for c in ("evaluator", "aspect") if c in types) or "true"
        first = f"SELECT min({ROW}) FROM scores GROUP BY {groups}"
        rows = f"SELECT * EXCLUDE {ROW} FROM scores WHERE {ROW} IN ({first}) ORDER BY {ROW}"
        found: pd.DataFrame = db.table(rows).to_pandas()
        return found


def status_counts(loaded: Loaded) -> dict[str, dict[str, int]]:
    """Return evaluator → status → how many scores have it."""
    found = {}
    for e, name in enumerate(loaded.evaluators):
        scored = int(np.isfinite(loaded.cube.read([e])[0]).sum())
        missing = int(loaded.cube.rows(e).sum()) - scored
        counts = {Status.OK.value: scored, Status.MISSING.value: missing}
        found[name] = {status: n for status, n in counts.items() if n}
    return found


def write_scores(loaded: Loaded, keys: Sequence[str], file: Path) -> None:
    """Write scores as the Parquet file of a run, an evaluator at a time; ``keys`` are the key columns."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    truth = loaded.truth
    of_unit = {k: pa.array(truth.labels[k].to_numpy(dtype=object)) for k in keys}
    names, statuses = pa.array(truth.aspects), pa.array([Status.OK.value, Status.MISSING.value])
    writer = None
    try:
        for e, name in enumerate(loaded.evaluators):
            aspect, unit = np.nonzero(loaded.cube.rows(e))
            score = loaded.cube.read([e])[0][0, aspect, unit]
            columns = {k: texts.take(pa.array(truth.keys[k][unit])) for k, texts in of_unit.items()}
            columns["evaluator"] = pa.array([name]).take(pa.array(np.zeros(len(unit), dtype=np.int64)))
            columns["aspect"] = names.take(pa.array(aspect))
            columns["score"] = pa.array(score)
            columns["status"] = statuses.take(pa.array(np.isnan(score).astype(np.int64)))
            table = pa.table(columns)
            writer = writer or pq.ParquetWriter(file, table.schema)
            writer.write_table(table)
    finally:
        if writer is not None:
            writer.close()
