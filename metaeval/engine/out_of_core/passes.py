"""The engine of frames on scores in files, some evaluators at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from metaeval.base.errors import MetaevalError
from metaeval.base.parallel import DUCKDB
from metaeval.base.progress import progress
from metaeval.base.records import ScoreTable
from metaeval.engine.alignment.aligned import shared_keys
from metaeval.engine.alignment.policy import Policy
from metaeval.engine.alignment.prepared import Common, Prepared, prepare, refuse_nothing_common, sparse, under
from metaeval.engine.board import Cell
from metaeval.engine.correlation import Correlations, correlated
from metaeval.engine.intervals import Bootstrap
from metaeval.engine.out_of_core.files import Engine, Parquet, chosen
from metaeval.engine.out_of_core.loading import Loaded, load
from metaeval.engine.paired_tests import Comparisons, Tests, aspects_of, comparisons, scored_alike
from metaeval.stats.coefficients.tables import Floats
from metaeval.stats.resampling.cluster_sums import Statistic
from metaeval.stats.resampling.paired import Paired, paired_statistics
from metaeval.stats.resampling.weights import Swaps, in_threads

T = TypeVar("T")

_BLOCK = 2**21  # scores per thread and pass
_AHEAD = 16  # passes that are begun before the first of them is taken


class Passes:
    """Scores in files and the truth under a policy, some evaluators per pass."""

    def __init__(self, loaded: Loaded, policy: Policy) -> None:
        self._loaded, self._policy = loaded, policy
        n = len(loaded.evaluators)
        step = max(1, _BLOCK // loaded.cube.size)
        self.parts: list[Sequence[int]] = [range(at, min(at + step, n)) for at in range(0, n, step)]
        self._common: Common | None = None
        if loaded.complete or n == 1:
            return
        self._common = common = Common(*loaded.truth.truth.shape)
        n_units = np.zeros((n, len(loaded.truth.aspects)), dtype=np.int64)
        for part, data in self.each("finding the units that are scored", self._own):
            n_units[part] = data.entering.sum(axis=2)
            few = sparse(n_units[part], data.n_rated) if policy.common else False
            common.meet(data.entering, (n_units[part] > 0) & ~np.asarray(few))
        if policy.common:
            n_shared = common.shared.sum(axis=1)
            refuse_nothing_common(loaded.truth.aspects, loaded.evaluators, n_units, n_shared)

    def each(self, description: str, work: Callable[[Sequence[int]], T]) -> Iterator[tuple[slice, T]]:
        """Yield the evaluators of each pass and what ``work`` makes of them, several passes at a time."""
        with progress(description, len(self.parts)) as advance:
            for at in range(0, len(self.parts), _AHEAD):  # results that are not taken yet stay in memory
                parts = self.parts[at : at + _AHEAD]
                for part, result in zip(parts, in_threads(work, parts), strict=True):
                    yield slice(part[0], part[-1] + 1), result
                    advance()

    def _own(self, part: Sequence[int]) -> Prepared:
        """Return some evaluators, each on the units that it scored."""
        data = under(replace(self._policy, common=False), self._loaded.part(part))
        return replace(data, policy=self._policy)

    def prepared(self, part: Sequence[int]) -> Prepared:
        """Return some evaluators on the units that enter."""
        data, common = self._own(part), self._common
        if common is None:
            return data
        if not self._policy.common:
            return replace(data, used=common.entering)
        few = sparse(data.entering.sum(axis=2), data.n_rated)
        return replace(
            data,
            mask=data.entering & (common.shared | few[:, :, None]),
            apart=frozenset(data.evaluators[e] for e in np.flatnonzero(few.any(axis=1))),
            n_left_out=np.maximum(data.n_rated - common.shared.sum(axis=1), 0),
            used=common.shared & common.entering,
        )


def correlate_loaded(
    loaded: Loaded, policy: Policy, wanted: Bootstrap | None, about: ScoreTable
) -> Correlations:
    """Correlate all evaluators with the truth; ``about`` has their signatures and no scores."""
    passes = Passes(loaded, policy)
    work = passes.each("correlating", lambda part: correlated(passes.prepared(part), about, wanted))
    results = [result for _, result in work]
    facts: dict[str, Any] = {**results[0].policy, "engine": DUCKDB}
    for result in results[1:]:
        if "left_out" in facts:
            facts["left_out"]["missing"].update(result.policy["left_out"]["missing"])
        if few := result.policy.get("apart"):
            facts["apart"] = {**facts.get("apart", {}), **few}
        for reason, evaluators in result.policy.get("no_interval", {}).items():
            facts.setdefault("no_interval", {}).setdefault(reason, {}).update(evaluators)
    return replace(
        results[0],
        frame=pd.concat([result.frame for result in results], ignore_index=True),
        policy=facts,
        simulated_evaluators=frozenset().union(*(result.simulated_evaluators for result in results)),
    )


def correlate_files(
    scores: Parquet,
    truth: pd.DataFrame,
    policy: Policy,
    wanted: Bootstrap | None,
    *,
    engine: Engine = "auto",
    simulated: bool = False,
    text_keys: bool = False,
    check: Callable[[Sequence[str]], None] | None = None,
) -> Correlations:
    """Correlate scores in files with the truth; ``policy`` of the result names the engine that did it.

    ``text_keys`` takes the keys of the scores as texts; ``check`` may refuse the names of the evaluators.
    """
    taken = chosen(engine, scores)
    if taken == DUCKDB:
        loaded = load(scores, truth, policy.levels, text_keys=text_keys, check=check)
        return correlate_loaded(loaded, policy, wanted, ScoreTable(pd.DataFrame(), simulated=simulated))
    frame = scores.frame()
    if check and "evaluator" in frame:
        check([str(name) for name in frame["evaluator"].unique()])
    if text_keys:
        frame = frame.astype(dict.fromkeys(shared_keys(frame, truth), "str"))
    result = correlated(prepare(frame, truth, policy), ScoreTable(frame, simulated=simulated), wanted)
    return replace(result, policy={**result.policy, "engine": taken})


def compare_loaded(loaded: Loaded, policy: Policy, by: Cell, tests: Tests) -> Comparisons:
    """Test every two evaluators by one column; of each only its sums by cluster are kept.

    Raises `MetaevalError` if evaluators scored different units, or the test takes all scores.
    """
    passes = Passes(loaded, policy)
    places = aspects_of(by, loaded.truth.aspects)
    first = passes.prepared(passes.parts[0])
    swap = first.cluster_name(tests.swap)
    clusters = first.clusters(swap)

    def statistics(part: Sequence[int]) -> list[list[Statistic]]:
        data = passes.prepared(part)
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
        by_evaluator = [row for _, part in passes.each("summing by cluster", statistics) for row in part]
        paired = paired_statistics([list(aspect) for aspect in zip(*by_evaluator, strict=True)], swaps)
        if paired is None:
            size = 8 * loaded.cube.size * len(loaded.evaluators) / 1e9
            raise MetaevalError(
                f"{by['coefficient']} at {by['level']} level needs all scores in memory, {size:.2f} GB of "
                "them; test pearson, or at a level of groups, or set engine: memory"
            )
        return paired, np.full_like(paired.p, np.nan)

    return comparisons(by, loaded.evaluators, test, tests, swap=swap, n_clusters=clusters.n)
