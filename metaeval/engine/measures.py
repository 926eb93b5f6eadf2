"""Measures that are statistics at weights: board, intervals and paired tests, for any kind of study."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from metaeval.base.keys import noun
from metaeval.engine.board import Board, BoardDimension
from metaeval.engine.comparison import comparisons
from metaeval.engine.sentences import interval_sentence
from metaeval.stats.resampling.bootstrap import bootstrap
from metaeval.stats.resampling.cluster_sums import ClusterSums, ratio
from metaeval.stats.resampling.paired import paired_test

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from metaeval.base.records import ScoreTable
    from metaeval.engine.board import Cell
    from metaeval.engine.comparison import Comparisons, Tests
    from metaeval.engine.intervals import Bootstrap
    from metaeval.stats.coefficients.tables import Floats, Ints


@dataclass(frozen=True, slots=True)
class Measure:
    """A number that says how well scores agree with the truth."""

    name: str
    sums: Callable[[Floats, Floats], Sequence[Floats]]
    """Scores and truth of the units → what is summed up over clusters, each of shape (units,)."""
    of_sums: Callable[[Floats], Floats]
    """Sums of shape (sums, columns) → the measure, of shape (columns,)."""
    bounds: tuple[float, float] = (-np.inf, np.inf)


def share(name: str, counts: Callable[[Floats, Floats], Any]) -> Measure:
    """Return the share of the units that count.

    Parameters
    ----------
    counts
        Scores and truth of the units → which count.
    """

    def sums(scores: Floats, truth: Floats) -> list[Floats]:
        return [np.asarray(counts(scores, truth), dtype=float), np.ones_like(truth)]

    return Measure(name, sums, lambda of: ratio(of[0], of[1]), (0.0, 1.0))


class MeasuredCells:
    """Measures of scores that are held against a truth; a cell is an aspect and a measure.

    All evaluators are measured on the units that have a truth and a score of each of them.

    Parameters
    ----------
    scores, truth
        Long; the truth with ``rating``.
    cluster
        The key column whose values are resampled, and swapped in tests.
    intervals
        How intervals are made; None for no intervals.
    """

    common = True

    def __init__(
        self,
        scores: ScoreTable,
        truth: pd.DataFrame,
        measures: Sequence[Measure],
        *,
        cluster: str,
        intervals: Bootstrap | None,
    ) -> None:
        self.scores, self.measures = scores, {m.name: m for m in measures}
        self.cluster, self.intervals = cluster, intervals
        keys = [*scores.keys, "aspect"]
        wide = scores.frame.pivot_table("score", keys, "evaluator", observed=True, sort=False, dropna=False)
        rated = truth.dropna(subset="rating").set_index(keys)["rating"]
        self._wide = wide.reindex(index=rated.index, columns=list(scores.evaluators))
        self._truth = rated
        of_unit, clusters = pd.factorize(rated.index.get_level_values(cluster))
        self._of_unit: Ints = of_unit
        self.n_clusters = len(clusters)

    @property
    def order(self) -> Cell:
        """The first measure of the first aspect."""
        return {"aspect": str(self._aspects[0]), "measure": next(iter(self.measures))}

    def board(self, cell: Cell | None = None, *, intervals: bool = True) -> Board:
        """Return the estimates of all evaluators in one cell; in all, if it is left out."""
        options = self.intervals if intervals else None
        every = [{"aspect": a, "measure": m} for a in self._aspects for m in self.measures]
        cells = [cell] if cell else every
        rows = [self._row(name, at, options) for at in cells for name in self.scores.evaluators]
        made = options and {
            **options.model_dump(),
            "cluster": noun(self.cluster),
            "n_clusters": self.n_clusters,
        }
        return Board(
            pd.DataFrame(rows),
            (
                BoardDimension("aspect", {a: a for a in dict.fromkeys(c["aspect"] for c in cells)}),
                BoardDimension("measure", {m: m for m in dict.fromkeys(c["measure"] for c in cells)}),
            ),
            estimate="{measure}",
            form="share" if all(m.bounds == (0.0, 1.0) for m in self.measures.values()) else "number",
            columns=("aspect", "measure"),
            counts={"n_missing": "missing scores"},
            intervals=interval_sentence(made or {}),
            notes=("A unit is left out where a score or the truth is missing.",),
            kinds=self.scores.kinds,
            simulated=self.scores.simulation,
        )

    def compare(
        self,
        cell: Cell,
        tests: Tests,
        *,
        evaluators: Sequence[str] | None = None,
        corrected_with: int = 0,
    ) -> Comparisons:
        """Test every two evaluators, all if they are left out."""
        names = list(evaluators or self.scores.evaluators)
        statistics = [self._statistic(name, cell) for name in names]
        return comparisons(
            cell,
            names,
            lambda swaps: (paired_test([statistics], swaps), np.full((len(names), len(names)), np.nan)),
            tests,
            swap=noun(self.cluster),
            n_clusters=self.n_clusters,
            corrected_with=corrected_with,
            swapped="answers",
        )

    def same(self, cell: Cell, one: str, other: str) -> bool:
        """Say whether two evaluators gave the same score to every unit."""
        wide = self._wide[self._rated(cell)]
        return bool((wide[one].eq(wide[other]) | (wide[one].isna() & wide[other].isna())).all())

    def entering(self, cell: Cell) -> int | None:
        """Return how many units all evaluators have a score for."""
        return int(self._use(cell).sum())

    @property
    def _aspects(self) -> list[str]:
        return [str(a) for a in self._truth.index.get_level_values("aspect").unique()]

    def _rated(self, cell: Cell) -> Any:  # noqa: ANN401 - bool of shape (units,)
        return self._truth.index.get_level_values("aspect") == cell["aspect"]

    def _use(self, cell: Cell) -> Any:  # noqa: ANN401 - bool of shape (units,)
        return self._rated(cell) & self._wide.notna().all(axis=1).to_numpy()

    def _statistic(self, evaluator: str, cell: Cell) -> ClusterSums:
        measure, use = self.measures[cell["measure"]], self._use(cell)
        of_unit = self._of_unit[use]
        sums = measure.sums(self._wide[evaluator].to_numpy()[use], self._truth.to_numpy()[use])
        by_cluster = np.stack([np.bincount(of_unit, values, self.n_clusters) for values in sums]).astype(
            np.float64
        )
        return ClusterSums(by_cluster, lambda found: measure.of_sums(found)[None])

    def _row(self, evaluator: str, cell: Cell, options: Bootstrap | None) -> Mapping[str, Any]:
        statistic, measure = self._statistic(evaluator, cell), self.measures[cell["measure"]]
        ends = {"ci_low": np.nan, "ci_high": np.nan}
        if options:
            found = bootstrap(statistic, options.resampler(self.n_clusters), bounds=measure.bounds)
            ends = {"ci_low": float(found.low[0]), "ci_high": float(found.high[0])}
        rated = self._rated(cell)
        return {
            "evaluator": evaluator,
            **cell,
            "estimate": float(statistic.at(np.ones((self.n_clusters, 1)))[0, 0]),
            **ends,
            "n_units": int(self._use(cell).sum()),
            "n_missing": int(self._wide[evaluator].isna().to_numpy()[rated].sum()),
        }
