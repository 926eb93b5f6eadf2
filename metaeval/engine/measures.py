"""Measures that are statistics at weights: board, intervals and paired tests, for any kind of study."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd

from metaeval.engine.board import Board, BoardDimension
from metaeval.engine.comparison import comparisons
from metaeval.engine.sentences import interval_sentence
from metaeval.stats.resampling.bootstrap import bootstrap
from metaeval.stats.resampling.cluster_sums import ClusterSums, ratio
from metaeval.stats.resampling.paired import paired_test

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from metaeval.engine.alignment.aligned import Bools
    from metaeval.engine.alignment.matched import Matched
    from metaeval.engine.board import Cell
    from metaeval.engine.comparison import Comparisons, Tests
    from metaeval.engine.intervals import Bootstrap
    from metaeval.stats.coefficients.tables import Floats
    from metaeval.stats.weighted.sums import Clusters


@dataclass(frozen=True, slots=True)
class Measure:
    """A number that says how well scores agree with the truth."""

    name: str
    sums: Callable[[Floats, Floats], Sequence[Floats]]
    """Scores and truth of the units → what is summed up over clusters, each of shape (units,)."""
    of_sums: Callable[[Floats], Floats]
    """Sums of shape (sums, …) → the measure, of shape (…)."""
    bounds: tuple[float, float] = (-np.inf, np.inf)
    alike: bool = False
    """Whether all clusters count alike: the sums of each are divided by its last one, a number of units."""
    lower_is_better: bool = False


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


@dataclass(frozen=True, slots=True, eq=False)
class MeasuredUnits:
    """Units of one value of the dimension that a board parts units by; E evaluators and n units."""

    scores: Floats
    """Shape (E, n); NaN throughout for an evaluator without any score."""
    truth: Floats
    """Shape (n,)."""
    clusters: Clusters
    """Those that these units are in."""

    def sums(self, measure: Measure) -> Floats:
        """Return what a measure sums up, by cluster, shape (sums, E, clusters)."""
        of_unit, n = self.clusters.of_unit, self.clusters.n
        found = np.array(
            [[np.bincount(of_unit, v, n) for v in measure.sums(x, self.truth)] for x in self.scores]
        )
        found = found.astype(np.float64)
        found[np.isnan(self.scores).any(axis=1)] = np.nan
        if measure.alike:
            found /= np.where(found[:, -1:] > 0, found[:, -1:], 1.0)
        return found.swapaxes(0, 1)


class MeasuredCells:
    """Measures of scores that are held against a truth; a cell is an aspect and a measure.

    All evaluators are measured on the units that have a truth and a score of each of them; one that has no
    score at all has no measure.

    Parameters
    ----------
    matched
        Scores and the truth. The values of the first key are resampled, and swapped in tests.
    intervals
        How intervals are made; None for no intervals.
    """

    common = True
    by: ClassVar[str] = "aspect"
    """What parts the units: the first dimension of the board."""
    form: ClassVar[Any] = None
    """How estimates are printed; shares as percentages and others as numbers, if None."""
    swapped: ClassVar[str] = "answers"
    """What changes places in tests."""

    def __init__(self, matched: Matched, measures: Sequence[Measure], *, intervals: Bootstrap | None) -> None:
        self.matched, self.intervals = matched, intervals
        self.measures = {m.name: m for m in measures}
        self._units: dict[str, MeasuredUnits] = {}

    @cached_property
    def parts(self) -> Mapping[str, tuple[int, Bools | slice]]:
        """Each value of the first dimension → the position of its aspect, and which units it has."""
        return {aspect: (i, slice(None)) for i, aspect in enumerate(self.matched.prepared.aspects)}

    @property
    def order(self) -> Cell:
        """The first measure of the first part."""
        return {self.by: next(iter(self.parts)), "measure": next(iter(self.measures))}

    def units(self, value: str) -> MeasuredUnits:
        """Return the units of a value of the first dimension that enter."""
        if value not in self._units:
            (aspect, _), use, clusters = self.parts[value], self._use(value), self._clusters
            self._units[value] = MeasuredUnits(
                self.matched.aligned.scores[:, aspect, use],
                self.matched.aligned.truth[aspect, use],
                clusters.among(use).take(use),
            )
        return self._units[value]

    def board(self, cell: Cell | None = None, *, intervals: bool = True) -> Board:
        """Return the estimates of all evaluators in one cell; in all, if it is left out."""
        options = self.intervals if intervals else None
        values = [cell[self.by]] if cell else list(self.parts)
        chosen = [self.measures[cell["measure"]]] if cell else list(self.measures.values())
        rows = [row for value in values for m in chosen for row in self._rows(value, m, options)]
        made = options and {
            **options.model_dump(),
            "cluster": self.matched.prepared.cluster_name(),
            "n_clusters": self._clusters.n,
        }
        shares = all(m.bounds == (0.0, 1.0) for m in self.measures.values())
        scores = self.matched.scores
        return Board(
            pd.DataFrame(rows),
            (
                BoardDimension(self.by, {value: value for value in values}),
                BoardDimension(
                    "measure",
                    {m.name: m.name for m in chosen},
                    lower=tuple(m.name for m in chosen if m.lower_is_better),
                ),
            ),
            estimate="{measure}",
            form=self.form or ("share" if shares else "number"),
            columns=(self.by, "measure"),
            counts={"n_missing": "missing scores"},
            intervals=interval_sentence(made or {}),
            notes=("A unit is left out where a score or the truth is missing.",),
            kinds=scores.kinds,
            simulated=scores.simulation,
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
        names = list(evaluators or self.matched.scores.evaluators)
        measure, units = self.measures[cell["measure"]], self.units(cell[self.by])
        sums = units.sums(measure)
        at = map(self._names.index, names)
        statistics = [ClusterSums(sums[:, e], lambda of: measure.of_sums(of)[None]) for e in at]
        found = comparisons(
            cell,
            names,
            lambda swaps: (paired_test([statistics], swaps), np.full((len(names), len(names)), np.nan)),
            tests,
            swap=self.matched.prepared.cluster_name(),
            n_clusters=units.clusters.n,
            corrected_with=corrected_with,
            swapped=self.swapped,
        )
        if not measure.lower_is_better:
            return found
        policy = {**found.policy, "higher_is_better": False}
        return replace(found, p_greater=found.p_greater.T, policy=policy)

    def same(self, cell: Cell, one: str, other: str) -> bool:
        """Say whether two evaluators gave the same score to every unit."""
        aspect, units = self.parts[cell[self.by]]
        scores = self.matched.aligned.scores[:, aspect, units]
        first, second = (scores[self._names.index(name)] for name in (one, other))
        return bool(np.array_equal(first, second, equal_nan=True))

    def entering(self, cell: Cell) -> int | None:
        """Return how many units all evaluators have a score for."""
        return len(self.units(cell[self.by]).truth)

    @property
    def _names(self) -> list[str]:
        return self.matched.aligned.evaluators

    @cached_property
    def _clusters(self) -> Clusters:
        return self.matched.prepared.clusters(self.matched.prepared.cluster_name())

    def _use(self, value: str) -> Bools:
        aspect, units = self.parts[value]
        use = np.zeros(self.matched.aligned.truth.shape[1], dtype=bool)
        use[units] = self.matched.prepared.entering[:, aspect, units].any(axis=0)
        return use

    def _rows(self, value: str, measure: Measure, options: Bootstrap | None) -> Iterator[dict[str, Any]]:
        units, (aspect, rated) = self.units(value), self.parts[value]
        statistic = ClusterSums(units.sums(measure), measure.of_sums)
        estimates = statistic.at(np.ones((units.clusters.n, 1)))[:, 0]
        low, high = np.full((2, len(estimates)), np.nan)
        if options:
            found = bootstrap(statistic, options.resampler(units.clusters.n), bounds=measure.bounds)
            low, high = found.low, found.high
        asked = ~np.isnan(self.matched.aligned.truth[aspect, rated])
        missing = np.isnan(self.matched.aligned.scores[:, aspect, rated][:, asked]).sum(axis=1)
        for e, name in enumerate(self._names):
            yield {
                "evaluator": name,
                self.by: value,
                "measure": measure.name,
                "estimate": float(estimates[e]),
                "ci_low": float(low[e]),
                "ci_high": float(high[e]),
                "n_units": len(units.truth),
                "n_missing": int(missing[e]),
            }
