"""Correlations of scores in files: the engine of frames, some evaluators at a time."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pandas as pd

from metaeval.base.engines import DUCKDB
from metaeval.base.progress import progress
from metaeval.base.records import Correlations, ScoreTable
from metaeval.engine.alignment.aligned import shared_keys
from metaeval.engine.alignment.policy import Common, Prepared, prepare, refuse_nothing_common, under
from metaeval.engine.correlation import correlated
from metaeval.engine.out_of_core.database import database
from metaeval.engine.out_of_core.files import Parquet, chosen, in_memory
from metaeval.engine.out_of_core.loading import load
from metaeval.stats.resampling.threads import in_threads

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from metaeval.engine.alignment.aligned import Bools
    from metaeval.engine.alignment.policy import Policy
    from metaeval.engine.intervals import Bootstrap
    from metaeval.engine.out_of_core.files import Engine, FilePath
    from metaeval.engine.out_of_core.loading import Loaded
    from metaeval.stats.coefficients.tables import Ints

T = TypeVar("T")

_BLOCK = 2**21  # scores worked through at a time by each thread
_AHEAD = 16  # blocks that are begun before the first of them is taken


class Blocks:
    """Scores in files and the truth, as a policy leaves them, some evaluators at a time.

    ``scored``, shape (E, A), says which evaluators have any unit, if these are some of the units only.
    """

    def __init__(self, loaded: Loaded, policy: Policy, scored: Bools | None = None) -> None:
        self._loaded, self._policy = loaded, policy
        n = len(loaded.evaluators)
        step = max(1, _BLOCK // loaded.cube.size)
        self.parts: list[Sequence[int]] = [range(at, min(at + step, n)) for at in range(0, n, step)]
        self._common: Common | None = None
        if loaded.complete or (n == 1 and scored is None):
            return
        self._common = common = Common(*loaded.truth.truth.shape)
        n_units = np.zeros((n, len(loaded.truth.aspects)), dtype=np.int64)
        for part, data in self.worked("finding the units that are scored", self.own):
            n_units[part] = data.entering.sum(axis=2)
            common.meet(data.entering, n_units[part] > 0 if scored is None else scored[part])
        if policy.common and scored is None:
            n_shared = self.n_shared
            refuse_nothing_common(loaded.truth.aspects, loaded.evaluators, n_units, n_shared)

    @property
    def n_shared(self) -> Ints:
        """How many units all evaluators with any score have, by aspect, shape (A,)."""
        shared = self.own(self.parts[0]).entering[0] if self._common is None else self._common.shared
        return np.asarray(shared.sum(axis=1))

    def worked(self, description: str, work: Callable[[Sequence[int]], T]) -> Iterator[tuple[slice, T]]:
        """Yield what is made of each part, several at a time, with the evaluators that it is."""
        with progress(description, len(self.parts)) as advance:
            for at in range(0, len(self.parts), _AHEAD):  # what is made and not taken yet is in memory
                parts = self.parts[at : at + _AHEAD]
                for part, found in zip(parts, in_threads(work, parts), strict=True):
                    yield slice(part[0], part[-1] + 1), found
                    advance()

    def own(self, part: Sequence[int]) -> Prepared:
        """Return some evaluators, each on the units that it scored."""
        found = under(replace(self._policy, common=False), self._loaded.of(part))
        return replace(found, policy=self._policy)

    def of(self, part: Sequence[int]) -> Prepared:
        """Return some evaluators on the units that enter."""
        data, common = self.own(part), self._common
        if common is None:
            return data
        if not self._policy.common:
            return replace(data, used=common.entering)
        return replace(
            data,
            mask=data.entering & common.shared,
            n_left_out=np.maximum(data.n_rated - common.shared.sum(axis=1), 0),
            used=common.shared & common.entering,
        )

    def correlated(self, wanted: Bootstrap | None, about: ScoreTable) -> Correlations:
        """Correlate all evaluators with the truth, as `metaeval.correlate` does; ``about`` has no scores."""
        work = self.worked("correlating", lambda part: correlated(self.of(part), about, wanted))
        found = [part for _, part in work]
        policy: dict[str, Any] = {**found[0].policy, "engine": DUCKDB}
        for part in found[1:]:
            if "left_out" in policy:
                policy["left_out"]["missing"].update(part.policy["left_out"]["missing"])
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
    if taken == "duckdb":
        with database() as db:
            if (
                isinstance(truth, str | os.PathLike)
                and (in_files := Parquet.of(truth, "the truth")).parts > 1
            ):
                from metaeval.engine.out_of_core.partitions import correlate_parts  # it imports this module

                found = correlate_parts(db, scores, in_files, policy, wanted)
            else:
                ratings = in_memory(truth, "the truth")
                loaded = load(db, scores, ratings, policy.levels, text_keys=text_keys, check=check)
                about = ScoreTable(pd.DataFrame(), simulated=simulated)
                found = Blocks(loaded, policy).correlated(wanted, about)
    else:
        frame, ratings = scores.frame(), in_memory(truth, "the truth")
        if check and "evaluator" in frame:
            check([str(name) for name in frame["evaluator"].unique()])
        if text_keys:
            frame = frame.astype(dict.fromkeys(shared_keys(frame, ratings), "str"))
        found = correlated(prepare(frame, ratings, policy), ScoreTable(frame, simulated=simulated), wanted)
    return replace(found, policy={**found.policy, "engine": taken})
