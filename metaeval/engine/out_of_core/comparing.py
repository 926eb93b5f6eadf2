"""Paired tests of scores in files: of each evaluator only its sums by cluster are kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from metaeval.base.errors import MetaevalError
from metaeval.engine.comparison import aspects_of, scored_alike
from metaeval.engine.out_of_core.correlating import Blocks
from metaeval.engine.out_of_core.database import database
from metaeval.engine.out_of_core.loading import load
from metaeval.engine.paired_tests import comparisons
from metaeval.stats.resampling.paired import paired_statistics

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from metaeval.engine.alignment.policy import Policy
    from metaeval.engine.board import Cell
    from metaeval.engine.out_of_core.files import Parquet
    from metaeval.engine.out_of_core.loading import Loaded
    from metaeval.engine.paired_tests import Comparisons, Tests
    from metaeval.stats.coefficients.tables import Floats
    from metaeval.stats.resampling.bootstrap import Statistic
    from metaeval.stats.resampling.t_tests import Paired
    from metaeval.stats.resampling.weights import Swaps


def compare_files(
    scores: Parquet, truth: pd.DataFrame, policy: Policy, by: Cell, tests: Tests
) -> Comparisons:
    """Test every two evaluators in files by one column; see `metaeval.compare`."""
    with database() as db:
        loaded = load(db, scores, truth, policy.levels)
    return compare_loaded(loaded, policy, by, tests)


def compare_loaded(loaded: Loaded, policy: Policy, by: Cell, tests: Tests) -> Comparisons:
    """Test every two evaluators by one column.

    Raises `MetaevalError` if evaluators scored different units, or the test takes all scores.
    """
    blocks = Blocks(loaded, policy)
    places = aspects_of(by, loaded.truth.aspects)
    first = blocks.of(blocks.parts[0])
    swap = first.cluster_name(tests.swap)
    clusters = first.clusters(swap)

    def statistics(part: Sequence[int]) -> list[list[Statistic]]:
        data = blocks.of(part)
        if not loaded.complete and (data.entering != first.entering[:1]).any():
            raise MetaevalError(
                "evaluators scored different units, and engine 'duckdb' tests them on the same units; set "
                "units: common, and leave out evaluators without any score"
            )
        return [
            [
                scored_alike(data, [e], a, by["level"], clusters)[0].comparable(
                    by["coefficient"], policy.undefined
                )
                for a in places
            ]
            for e in range(len(part))
        ]

    def test(swaps: Swaps) -> tuple[Paired, Floats]:
        summed = blocks.worked("summing by cluster", statistics)
        of_evaluators = [of for _, part in summed for of in part]
        found = paired_statistics([list(aspect) for aspect in zip(*of_evaluators, strict=True)], swaps)
        if found is None:
            size = 8 * loaded.cube.size * len(loaded.evaluators) / 1e9
            raise MetaevalError(
                f"{by['coefficient']} at {by['level']} level needs all scores in memory, {size:.2f} GB of "
                "them; test pearson, or at a level of groups, or set engine: memory"
            )
        return found, np.full_like(found.p, np.nan)

    return comparisons(by, loaded.evaluators, test, tests, swap=swap, n_clusters=clusters.n)
