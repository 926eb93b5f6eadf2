"""Measures that are statistics at weights: board, intervals and paired tests, for any kind of study."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd

from metaeval.base.errors import MetaevalError, unknown
from metaeval.engine.board import Board, BoardDimension, Cell
from metaeval.engine.cells import Cells, Estimated
from metaeval.engine.drilldown import GroupColumn, Groups
from metaeval.engine.order.paired_tests import Comparisons, Tested, Tests, comparisons
from metaeval.engine.sentences import interval_sentence
from metaeval.stats.coefficients.tables import Floats, Ints
from metaeval.stats.resampling.bootstrap import Estimate, bootstrap, each
from metaeval.stats.resampling.cluster_sums import ClusterSums, Stack, Statistic, ratio
from metaeval.stats.resampling.paired import paired_test
from metaeval.stats.resampling.weights import one_thread
from metaeval.stats.weighted.sums import Clusters

if TYPE_CHECKING:
    import pandas as pd

    from metaeval.engine.alignment.aligned import Bools
    from metaeval.engine.alignment.prepared import Matched
    from metaeval.engine.intervals import Bootstrap


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
    chance: float = 0.0
    """What verdicts at random have, where that is known and not 0."""


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
    """The cluster of each of the n units."""

    def among(self, chosen: Bools) -> MeasuredUnits:
        """Return some of the units, in as many clusters; ``chosen`` has shape (n,)."""
        return MeasuredUnits(self.scores[:, chosen], self.truth[chosen], self.clusters.take(chosen))

    def by_unit(self, measure: Measure) -> list[list[Floats]]:
        """Return what a measure sums up, of each evaluator and unit."""
        return [list(measure.sums(x, self.truth)) for x in self.scores]

    def sums(self, measure: Measure) -> Floats:
        """Return what a measure sums up, by cluster, shape (sums, E, clusters)."""
        of_unit, n = self.clusters.of_unit, self.clusters.n
        summed = [[np.bincount(of_unit, v, n) for v in sums] for sums in self.by_unit(measure)]
        found = np.array(summed).astype(np.float64)
        found[np.isnan(self.scores).any(axis=1)] = np.nan
        if measure.alike:
            found /= np.where(found[:, -1:] > 0, found[:, -1:], 1.0)
        return np.ascontiguousarray(found.swapaxes(0, 1))


class MeasuredCells(Cells):
    """Measures of scores that are compared with a truth; a cell is an aspect and a measure.

    All evaluators are measured on the units that have a truth and a score of each of them; one that has no
    score at all has no measure.

    Parameters
    ----------
    matched
        Scores and the truth. The values of the first key are resampled, and swapped in tests.
    intervals
        How intervals are made; None for no intervals.
    """

    by: ClassVar[str] = "aspect"
    """What parts the units: the first dimension of the board."""
    form: ClassVar[Any] = None
    """How estimates are printed; shares as percentages and others as numbers, if None."""
    swapped: ClassVar[str] = "answers"
    """What changes places in tests."""
    undefined: ClassVar[str] = "no unit of it has a truth and all scores"
    """Why a measure of a group of units may be undefined, as a clause."""
    notes: tuple[str, ...] = ("A unit is left out where a score or the truth is missing.",)
    """What stands below the board."""

    def __init__(self, matched: Matched, measures: Sequence[Measure], *, intervals: Bootstrap | None) -> None:
        self.matched, self.intervals = matched, intervals
        self.measures = {m.name: m for m in measures}
        self._resampler = intervals.resampler() if intervals else None

    @cached_property
    def parts(self) -> Mapping[str, tuple[int, Bools | slice]]:
        """Each value of the first dimension → the position of its aspect, and which units it has."""
        return {aspect: (i, slice(None)) for i, aspect in enumerate(self.matched.prepared.aspects)}

    @property
    def every(self) -> list[Cell]:
        """All cells."""
        return [{**self.at(value), "measure": m} for value in self.parts for m in self.measures]

    def tested(self, order: Cell, how: Tests) -> list[tuple[Cell, Tests]]:
        """Return the cells that have a unit."""
        return [(cell, how) for cell in self.every if self.entering(cell)]

    def at(self, value: str) -> dict[str, str]:
        """Return the dimensions of the board, but for the measure, that a value of ``parts`` stands for."""
        return {self.by: value}

    def part(self, cell: Cell) -> str:
        """Return the value of ``parts`` that a cell is in; `MetaevalError` if there is no such cell."""
        if dict(cell) not in self.every:
            known = [",".join(one.values()) for one in self.every]
            raise MetaevalError(unknown("there is no cell", ",".join(cell.values()), known))
        return next(value for value in self.parts if all(cell[k] == v for k, v in self.at(value).items()))

    def units(self, value: str) -> MeasuredUnits:
        """Return the units of a value of the first dimension that enter."""
        (aspect, _), use = self.parts[value], self.use(value)
        return MeasuredUnits(
            self.matched.aligned.scores[:, aspect, use],
            self.matched.aligned.truth[aspect, use],
            self._clusters.among(use).take(use),
        )

    def use(self, value: str) -> Bools:
        """Say of all units which enter for a value of the first dimension."""
        aspect, units = self.parts[value]
        use = np.zeros(self.matched.aligned.truth.shape[1], dtype=bool)
        use[units] = self.matched.prepared.entering[:, aspect, units].any(axis=0)
        return use

    def missing(self, value: str) -> Ints:
        """Return how many scores of each evaluator are missing, of the units with a truth, shape (E,)."""
        aspect, rated = self.parts[value]
        asked = ~np.isnan(self.matched.aligned.truth[aspect, rated])
        found: Ints = np.isnan(self.matched.aligned.scores[:, aspect, rated][:, asked]).sum(axis=1)
        return found

    def said(self, value: str) -> str:
        """Return what a sentence says for a value of a dimension."""
        return value

    @one_thread()
    def estimate(
        self,
        statistic: Statistic,
        n: int,
        bounds: tuple[float, float] | Sequence[tuple[float, float]] = (-np.inf, np.inf),
        *,
        intervals: bool = True,
        stretch: bool = True,
    ) -> Estimate[Floats]:
        """Estimate a statistic of ``n`` clusters; intervals are NaN if none are wanted."""
        if self._resampler and intervals and n:
            return bootstrap(statistic, self._resampler.of(n), bounds=bounds, stretch=stretch)
        value = statistic.at(np.ones((n, 1)))[:, 0]
        return Estimate(value, value * np.nan, value * np.nan, n)

    def board(self, cell: Cell | None = None, *, intervals: bool = True) -> Board:
        """Return the estimates of all evaluators in one cell; in all, if it is left out."""
        values = [self.part(cell)] if cell else list(self.parts)
        chosen = [self.measures[cell["measure"]]] if cell else list(self.measures.values())
        rows = [row for value in values for row in self._rows(value, chosen, intervals=intervals)]
        how, cluster = self.intervals, self.matched.prepared.cluster_name()
        made = how.record_of(cluster, self._clusters.n) if intervals and how else {}
        shares = all(m.bounds == (0.0, 1.0) for m in self.measures.values())
        scores = self.matched.scores
        parted = pd.DataFrame([self.at(value) for value in values])
        frame = pd.DataFrame(rows)
        return Board(
            frame,
            (
                *(
                    BoardDimension(str(name), {v: self.said(v) for v in parted[name].unique()})
                    for name in parted
                ),
                BoardDimension(
                    "measure",
                    {m.name: m.name for m in chosen},
                    lower=tuple(m.name for m in chosen if m.lower_is_better),
                    chance={m.name: m.chance for m in chosen if m.chance},
                ),
            ),
            estimate="{measure}",
            form=self.form or ("share" if shares else "number"),
            columns=(str(parted.columns[0]), "measure"),
            counts={"n_missing": "missing scores"},
            intervals=interval_sentence(made, frame),
            notes=self.notes,
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
        names = list(evaluators or self.evaluators)
        found, by_name = self.estimated(cell), self._statistics(cell)
        statistics = [by_name[name] for name in names]
        none = np.full((len(names), len(names)), np.nan)
        return comparisons(
            cell,
            names,
            lambda swaps: Tested(paired_test([statistics], swaps), none, statistics),
            tests,
            swap=found.cluster,
            n_clusters=found.n_clusters,
            corrected_with=corrected_with,
            swapped=self.swapped,
            about=self.matched.scores,
            higher_is_better=found.higher_is_better,
        )

    def statistics(self, cell: Cell, names: Sequence[str]) -> Sequence[tuple[Sequence[ClusterSums], int]]:
        """Return them by the first key alone."""
        by_name = self._statistics(cell)
        return [([by_name[name] for name in names], self.units(self.part(cell)).clusters.n)]

    def estimated(self, cell: Cell) -> Estimated:
        """Return the measures of one cell."""
        measure = self.measures[cell["measure"]]
        return Estimated(
            self._statistics(cell),
            self.matched.prepared.cluster_name(),
            self.units(self.part(cell)).clusters.n,
            higher_is_better=not measure.lower_is_better,
            share=measure.bounds == (0.0, 1.0),
        )

    def _statistics(self, cell: Cell) -> dict[str, ClusterSums]:
        measure = self.measures[cell["measure"]]
        sums = self.units(self.part(cell)).sums(measure)
        return {
            name: ClusterSums(sums[:, e], lambda of: measure.of_sums(of)[None])
            for e, name in enumerate(self.evaluators)
        }

    def same(self, cell: Cell, one: str, other: str) -> bool:
        """Say whether two evaluators gave the same score to every unit."""
        aspect, units = self.parts[self.part(cell)]
        scores = self.matched.aligned.scores[:, aspect, units]
        first, second = (scores[self.evaluators.index(name)] for name in (one, other))
        return bool(np.array_equal(first, second, equal_nan=True))

    def entering(self, cell: Cell) -> int:
        """Return how many units all evaluators have a score for."""
        return len(self.units(self.part(cell)).truth)

    def groups(self, nouns: Mapping[str, str]) -> list[Groups]:
        """Return the groups of units with the same first key, first two keys, and so on.

        Each has the measures over its units; ``nouns`` says what a value of each key is called.
        """
        keys = tuple(nouns)
        return [self._groups(nouns[keys[n]], keys[: n + 1]) for n in range(len(keys) - 1)]

    def _groups(self, noun: str, keys: tuple[str, ...]) -> Groups:
        known = self.matched.keys[[*keys]].astype(str)
        of_unit = known.groupby([*keys], sort=True).ngroup().to_numpy()
        ids = known.drop_duplicates().sort_values([*keys])
        entering = np.zeros(len(known), dtype=bool)
        parted = {value: tuple(self.at(value).values()) for value in self.parts}
        sizes = [list(dict.fromkeys(names)) for names in zip(*parted.values(), strict=True)]
        shape = (len(self.evaluators), *map(len, sizes), len(self.measures), len(ids))
        numbers = np.full(shape, np.nan)
        for value, names in parted.items():
            at = tuple(of.index(name) for of, name in zip(sizes, names, strict=True))
            use, part = self.use(value), self.units(value)
            entering |= use
            for m, measure in enumerate(self.measures.values()):
                for e, sums in enumerate(part.by_unit(measure)):
                    of_group = [np.bincount(of_unit[use], v, len(ids)) for v in sums]
                    numbers[e, *at, m] = measure.of_sums(np.stack(of_group).astype(float))
        n_units = np.bincount(of_unit[entering], minlength=len(ids))
        there, dimensions = n_units > 0, (*self.at(next(iter(parted))), "measure")
        return Groups(
            noun,
            " and ".join(key.removesuffix("_id") for key in keys),
            f"{noun}s",
            keys,
            tuple(ids[there].itertuples(index=False, name=None)),
            n_units[there],
            (GroupColumn(numbers[..., there], dimensions, "{measure}", "decimal"),),
            undefined=self.undefined,
        )

    @property
    def evaluators(self) -> list[str]:
        """Their names, in the order of the scores."""
        return self.matched.aligned.evaluators

    @cached_property
    def _clusters(self) -> Clusters:
        return self.matched.prepared.clusters(self.matched.prepared.cluster_name())

    def _rows(self, value: str, measures: Sequence[Measure], *, intervals: bool) -> Iterator[dict[str, Any]]:
        units, names, missing = self.units(value), self.evaluators, self.missing(value)
        statistic = Stack([ClusterSums(units.sums(m), m.of_sums) for m in measures])
        bounds = [m.bounds for m in measures for _ in names]
        found = each(self.estimate(statistic, units.clusters.n, bounds, intervals=intervals))
        for (measure, e), estimate in zip(product(measures, range(len(names))), found, strict=True):
            yield {
                "evaluator": names[e],
                **self.at(value),
                "measure": measure.name,
                "estimate": estimate.value,
                "ci_low": estimate.low,
                "ci_high": estimate.high,
                "n_units": len(units.truth),
                "n_missing": int(missing[e]),
            }
