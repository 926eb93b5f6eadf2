"""Correlations of units that do not fit in memory: some users at a time, and sums over all parts of them."""

from __future__ import annotations

import pickle
import tempfile
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from metaeval.base.errors import DataError
from metaeval.base.keys import levels_of
from metaeval.base.progress import progress
from metaeval.base.records import Correlations, ScoreTable
from metaeval.engine.alignment.policy import Prepared, refuse_nothing_common
from metaeval.engine.correlation import correlated
from metaeval.engine.out_of_core.correlating import Blocks
from metaeval.engine.out_of_core.database import ROW, quoted
from metaeval.engine.out_of_core.files import available_memory
from metaeval.engine.out_of_core.loading import Loaded, Source, holds_text, read
from metaeval.engine.out_of_core.partial import Sums

if TYPE_CHECKING:
    from metaeval.engine.alignment.aligned import Aligned
    from metaeval.engine.alignment.policy import Policy
    from metaeval.engine.intervals import Bootstrap
    from metaeval.engine.out_of_core.database import DuckDatabase
    from metaeval.engine.out_of_core.files import Parquet
    from metaeval.engine.out_of_core.loading import ScoreFacts
    from metaeval.stats.coefficients.tables import Ints

_RANKED = 60
"""Bytes that a continuous score takes while it is ranked."""


def correlate_parts(
    db: DuckDatabase, scores: Parquet, truth: Parquet, policy: Policy, wanted: Bootstrap | None
) -> Correlations:
    """Correlate scores with the truth in parts, each of some users, or of some of what the first key names.

    Raises `DataError` for what takes all units at once: intervals, and ranks of continuous scores in groups
    with units of several users.
    """
    _refuse_intervals(truth, wanted)
    n_parts = truth.parts  # once, for the memory that is available changes
    db.view("truth", truth)
    source = Source.of(
        db, scores, db.table(f"SELECT * EXCLUDE {ROW} FROM truth LIMIT 1000").to_pandas(), text_keys=False
    )
    source.truth_alone(policy.levels)
    counted = source.counted()
    aspects = [str(a) for (a,) in db.rows(f"SELECT aspect FROM truth GROUP BY ALL ORDER BY min({ROW})")]
    known, key = levels_of(source.keys), source.keys[0]
    nested = [level for level in policy.levels if key in known[level].columns and not known[level].between]
    _refuse_ranks(policy, nested, counted, truth, [known[level].between for level in policy.levels])
    as_type = "VARCHAR" if holds_text(source.truth[key]) else "DOUBLE"
    of_truth, of_scores = (
        f"hash({column}::{as_type}) % {n_parts}" for column in (quoted(key), source.columns[key])
    )
    everyone, n_aspects = counted.evaluators, len(aspects)
    n_units, n_missing = np.zeros((2, len(everyone), n_aspects), dtype=np.int64)
    n_rated, n_shared, truth_missing = np.zeros((3, n_aspects), dtype=np.int64)
    kept: list[tuple[int, Loaded]] = []
    with tempfile.TemporaryFile() as file:
        with progress("reading the units", n_parts) as advance:
            for p in range(n_parts):
                rows = f"SELECT * EXCLUDE {ROW} FROM truth WHERE {of_truth} = {p} ORDER BY {ROW}"
                ratings = db.table(rows).to_pandas()
                advance()
                if ratings.empty:
                    continue
                here = replace(source, truth=ratings, where=f"{of_scores} = {p}")
                loaded = read(here, counted, policy.levels)
                at = _places(loaded, aspects)
                blocks = Blocks(replace(loaded, complete=True), policy)
                for part, data in blocks.worked("counting", blocks.own):
                    n_units[part, at] += data.entering.sum(axis=2)
                kept.append((file.tell(), replace(loaded, truth=_without_units(loaded.truth))))
                pickle.dump(loaded.truth, file)
        if not any(loaded.matched for _, loaded in kept):
            raise DataError(f"no unit of the scores is in the truth, by {', '.join(source.keys)}")
        sums = Sums(policy, n_units.size, counted.low is not None)
        with progress("correlating the parts", len(kept)) as advance:
            for start, lacking in kept:
                file.seek(start)
                loaded = replace(lacking, truth=pickle.load(file))  # noqa: S301 - it was written here
                at = _places(loaded, aspects)
                blocks = Blocks(loaded, policy, n_units[:, at] > 0)
                n_shared[at] += blocks.n_shared
                for part, data in blocks.worked("correlating", blocks.of):
                    n_missing[part, at] += data.n_missing
                    evaluators = np.arange(part.start, part.stop)
                    sums.add(data, evaluators[:, None] * n_aspects + at, nested)
                truth_missing[at] += data.truth_missing
                n_rated[at] += data.n_rated
                advance()
    if policy.common and len(everyone) > 1:
        refuse_nothing_common(aspects, everyone, n_units, n_shared)
    whole = Prepared(
        policy,
        everyone,
        aspects,
        np.empty((len(everyone), n_aspects, 0)),
        np.empty((n_aspects, 0)),
        None,
        n_missing,
        truth_missing,
        n_rated,
        {},
        dict.fromkeys(source.keys, np.empty(0, dtype=np.int64)),
        {},
        np.maximum(n_rated - n_shared, 0) if policy.common and len(everyone) > 1 else None,
    )
    whole.found.update(sums.estimates())
    return correlated(whole, ScoreTable(pd.DataFrame()), None)


def _places(loaded: Loaded, aspects: list[str]) -> Ints:
    """Return where the aspects of a part are among all."""
    return np.array([aspects.index(a) for a in loaded.truth.aspects])


def _without_units(truth: Aligned) -> Aligned:
    """Return what little of a truth is kept in memory."""
    return replace(truth, truth=truth.truth[:, :0], asked=None, groupings={}, keys={}, labels={})


def _refuse_intervals(truth: Parquet, wanted: Bootstrap | None) -> None:
    """Say that there are none, before anything is read."""
    if wanted is not None:
        raise DataError(
            f"intervals of {truth.rows:,} ratings need all of them in memory; leave the bootstrap out "
            "(bootstrap=None, --resamples 0), or correlate a sample of the users"
        )


def _refuse_ranks(
    policy: Policy, nested: list[str], counted: ScoreFacts, truth: Parquet, between: list[bool]
) -> None:
    """Say what cannot be summed over parts, before it takes hours."""
    levels = [n for n, b in zip(policy.levels, between, strict=True) if not b and n not in nested]
    ranks = [c for c in policy.coefficients if c != "pearson"]
    if counted.low is None and levels and ranks:
        takes, there = (size / 1e9 for size in (truth.rows * _RANKED, available_memory()))
        raise DataError(
            f"{ranks[0]} of continuous scores at {levels[0]} level ranks {truth.rows:,} ratings at once, "
            f"which takes {takes:.1f} GB, and {there:.1f} GB of memory are there; ask for pearson, or for "
            "levels of groups within users"
        )
