"""Correlations of scores in files: the engine of frames, some evaluators at a time."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pandas as pd

from metaeval.base.progress import progress
from metaeval.base.records import Correlations, ScoreTable
from metaeval.engine.alignment.aligned import shared_keys
from metaeval.engine.alignment.policy import Common, Prepared, prepare, under
from metaeval.engine.correlation import correlated
from metaeval.engine.out_of_core.database import database
from metaeval.engine.out_of_core.files import chosen, in_memory
from metaeval.engine.out_of_core.loading import load
from metaeval.stats.resampling.threads import in_threads

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from metaeval.engine.alignment.policy import Policy
    from metaeval.engine.intervals import Bootstrap
    from metaeval.engine.out_of_core.files import Engine, FilePath, Parquet
    from metaeval.engine.out_of_core.loading import Loaded

_BLOCK = 2**21  # scores worked through at a time by each thread


class Blocks:
    """Scores in files and the truth, as a policy leaves them, some evaluators at a time."""

    def __init__(self, loaded: Loaded, policy: Policy) -> None:
        self._loaded, self._policy = loaded, policy
        n = len(loaded.evaluators)
        step = max(1, _BLOCK // loaded.cube.size)
        self.parts: list[Sequence[int]] = [range(at, min(at + step, n)) for at in range(0, n, step)]
        self._common: Common | None = None
        if not loaded.complete and n > 1:
            self._common = Common(loaded.truth.aspects, loaded.truth.truth.shape[1])
            with progress("finding the units that are scored", len(self.parts)) as advance:
                for data in in_threads(self._own, self.parts):
                    self._common.meet(data.entering, data.evaluators)
                    advance()

    def _own(self, part: Sequence[int]) -> Prepared:
        """Return some evaluators, each on the units that it scored."""
        found = under(replace(self._policy, common=False), self._loaded.of(part))
        return replace(found, policy=self._policy)

    def of(self, part: Sequence[int]) -> Prepared:
        """Return some evaluators on the units that enter."""
        data = self._own(part)
        if self._common is None:
            return data
        if not self._policy.common:
            return replace(data, used=self._common.entering)
        mask = self._common.narrowed(data.entering)
        return replace(data, mask=mask, used=self._common.shared & self._common.entering)

    def correlated(self, wanted: Bootstrap | None, *, simulated: bool = False) -> Correlations:
        """Correlate all evaluators with the truth, as `metaeval.correlate` does."""
        none = ScoreTable(pd.DataFrame(), simulated=simulated)
        found = []
        with progress("correlating", len(self.parts)) as advance:
            for part in in_threads(lambda at: correlated(self.of(at), none, wanted), self.parts):
                found.append(part)
                advance()
        policy: dict[str, Any] = dict(found[0].policy)
        for part in found[1:]:
            for reason, of_evaluators in part.policy.get("no_interval", {}).items():
                policy.setdefault("no_interval", {}).setdefault(reason, {}).update(of_evaluators)
        return replace(
            found[0],
            frame=pd.concat([part.frame for part in found], ignore_index=True),
            policy=policy,
            simulated_evaluators=frozenset().union(*(part.simulated_evaluators for part in found)),
        )


def correlate_files(
    scores: Parquet,
    truth: pd.DataFrame | FilePath,
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
    ratings = in_memory(truth, "the truth")
    if taken == "duckdb":
        with database() as db:
            loaded = load(db, scores, ratings, policy.levels, text_keys=text_keys, check=check)
        found = Blocks(loaded, policy).correlated(wanted, simulated=simulated)
    else:
        frame = scores.frame()
        if check and "evaluator" in frame:
            check([str(name) for name in frame["evaluator"].unique()])
        if text_keys:
            frame = frame.astype(dict.fromkeys(shared_keys(frame, ratings), "str"))
        found = correlated(prepare(frame, ratings, policy), ScoreTable(frame, simulated=simulated), wanted)
    return replace(found, policy={**found.policy, "engine": taken})
