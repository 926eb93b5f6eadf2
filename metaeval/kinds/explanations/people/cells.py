"""How far judges' distributions are from people's: what the board of such a study holds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import pandas as pd

from metaeval.base.records import AVERAGE, Status
from metaeval.base.spec import EvaluatorSpec
from metaeval.engine.alignment.prepared import Matched
from metaeval.engine.measures import Measure, MeasuredCells, MeasuredUnits
from metaeval.evaluators.people import People, people_in, shares_of
from metaeval.kinds.kind import Scored
from metaeval.kinds.table import KindTable
from metaeval.stats.agreement import distributions
from metaeval.stats.agreement.distributions import covered, of_others, shares_in
from metaeval.stats.coefficients.tables import Floats, Ints
from metaeval.stats.resampling.cluster_sums import ratio

if TYPE_CHECKING:
    from metaeval.engine.alignment.aligned import Bools
    from metaeval.engine.board import Cell
    from metaeval.kinds.study import Study
    from metaeval.stats.weighted.sums import Clusters

MANHATTAN: Final = "Manhattan distance"
WASSERSTEIN: Final = "Wasserstein distance"
COVERAGE: Final = "coverage"


def _measure(
    name: str, of: Callable[[Floats, Floats], Floats], most: float = np.inf, *, lower: bool = True
) -> Measure:
    def sums(judged: Floats, people: Floats) -> list[Floats]:
        return [of(judged, people), np.ones(len(people))]

    return Measure(name, sums, lambda s: ratio(s[0], s[1]), (0.0, most), lower_is_better=lower)


def measures(*, least: float, ordered: bool) -> list[Measure]:
    """Return the measures; that which needs an order of the values only if they are ``ordered``."""
    found = [
        _measure(MANHATTAN, distributions.manhattan, 2.0),
        _measure(WASSERSTEIN, distributions.wasserstein),
        _measure("cross-entropy", distributions.cross_entropy),
        _measure("Jensen-Shannon divergence", distributions.jensen_shannon, 1.0),
        _measure("MSE of the share", distributions.squared_error, 1.0),
        _measure(COVERAGE, partial(covered, least=least), 1.0, lower=False),
    ]
    return [m for m in found if ordered or m.name != WASSERSTEIN]


def truth_of_people(study: Study) -> People:
    """Return the truth of a study."""
    spec = EvaluatorSpec.parse(study.truth)
    return People(*spec.args, **spec.kwargs)  # type: ignore[arg-type]


def _ratings(scored: Scored[Any]) -> pd.DataFrame | None:
    """Return what each of the people said: the rows of the ratings, with all of their columns."""
    given: pd.DataFrame = scored.data.ratings.dropna(subset=["rating"])
    return given[
        given["rater"].isin(people_in(scored.data, truth_of_people(scored.study).raters, RATINGS.name))
    ]


RATINGS = KindTable("people.parquet", "", (), _ratings)
"""The ratings that the truth is made of, one by one."""


class Given(NamedTuple):
    """The ratings of one aspect; N ratings of U units on a scale of L values."""

    unit: Ints
    """The position of the unit of each rating, shape (N,)."""
    value: Ints
    """The position of its value among those of the scale, shape (N,)."""
    row: Ints
    """Its row in the table of ratings, shape (N,)."""
    counts: Floats
    """How many people gave each unit each value, shape (U, L)."""

    @property
    def shares(self) -> Floats:
        """The share of people who gave each value, shape (U, L)."""
        return shares_in(self.counts)

    @property
    def others(self) -> Floats:
        """The shares of the others, for each rating, shape (N, L); NaN where there is nobody else."""
        return of_others(self.counts[self.unit], self.value)


@dataclass(frozen=True, slots=True, eq=False)
class SharedUnits:
    """Distributions over the units of a cell, of one aspect or of each; see `MeasuredUnits`."""

    judged: Sequence[Floats]
    """By aspect, shape (E, n, values)."""
    people: Sequence[Floats]
    """By aspect, shape (n, values)."""
    clusters: Clusters
    sets: Callable[[Floats, Floats], Floats] | None = None
    """Coverage of the sets of labels, by the shares of the aspects, shape (n, aspects)."""

    @property
    def truth(self) -> Floats:
        """One row per unit."""
        return self.people[0]

    def instead(self, judged: Sequence[Floats]) -> SharedUnits:
        """Return the same units with other distributions of evaluators, by aspect."""
        return replace(self, judged=judged)

    def by_unit(self, measure: Measure) -> list[list[Floats]]:
        """Return what a measure sums up, of each evaluator and unit: the mean over aspects."""
        if self.sets is not None and measure.name == COVERAGE:
            chosen, given = (np.stack([s[..., 1] for s in of], axis=-1) for of in (self.judged, self.people))
            return [[self.sets(one, given), np.ones(len(given))] for one in chosen]
        parts = [
            MeasuredUnits(of, people, self.clusters).by_unit(measure)
            for of, people in zip(self.judged, self.people, strict=True)
        ]
        return [
            [np.mean(sums, axis=0) for sums in zip(*each, strict=True)] for each in zip(*parts, strict=True)
        ]

    def sums(self, measure: Measure) -> Floats:
        """Return what a measure sums up, by cluster, shape (sums, E, clusters)."""
        of_unit, n = self.clusters.of_unit, self.clusters.n
        found = np.array([[np.bincount(of_unit, v, n) for v in sums] for sums in self.by_unit(measure)])
        return np.ascontiguousarray(found.astype(np.float64).swapaxes(0, 1))


class PeopleCells(MeasuredCells):
    """Measures of how near judges' distributions are to people's; a cell is an aspect and a measure.

    The average over aspects is of the units that have all of them.
    """

    form = "decimal"
    swapped = "scores"
    undefined = "no unit of it was rated and has a distribution of every evaluator"
    notes = (
        "A unit is left out where an evaluator has no distribution, or nobody rated it.",
        "A score is a distribution if it is a value of the scale, or a share on a scale of two values.",
    )

    def __init__(self, scored: Scored[Any]) -> None:
        truth = truth_of_people(scored.study)
        self.least, self.sets = truth.least, truth.sets
        self.scale = scored.scale
        matched, self._of_row = _with_distribution(scored)
        aspects = matched.aligned.aspects
        ordered = not any(self.scale.of(a).labels for a in aspects)
        super().__init__(
            matched, measures(least=self.least, ordered=ordered), intervals=scored.study.bootstrap
        )
        self.resampler = self._resampler
        self.ratings = scored.table(RATINGS).reset_index(drop=True)
        self.wanted = pd.MultiIndex.from_frame(matched.keys.astype(str))
        named = pd.MultiIndex.from_frame(self.ratings[[*self.wanted.names]].astype(str))
        self.unit_of_row: Ints = self.wanted.get_indexer(named).astype(np.int64)
        """The position of the unit of each rating; -1 for none of these."""

    @property
    def every_cluster(self) -> Ints:
        """The cluster of each unit, shape (U,)."""
        return self._clusters.of_unit

    @cached_property
    def parts(self) -> Mapping[str, tuple[int, Bools | slice]]:
        """Each aspect, and their average if there are several."""
        aspects = self.matched.prepared.aspects
        found: dict[str, tuple[int, Bools | slice]] = {a: (i, slice(None)) for i, a in enumerate(aspects)}
        return {**found, AVERAGE: (-1, slice(None))} if len(found) > 1 else found

    def aspects_of(self, value: str) -> list[int]:
        """Return the positions of the aspects of a value of ``parts``."""
        return [*range(len(self.matched.prepared.aspects))] if value == AVERAGE else [self.parts[value][0]]

    @cached_property
    def judged(self) -> list[Floats]:
        """The distributions by aspect, shape (E, U, values); NaN for none."""
        frame, names, found = self.matched.scores.frame, self.evaluators, []
        keys = frame[[*self.wanted.names]].astype(str)
        for aspect in self.matched.prepared.aspects:
            shares = np.full((len(names), len(self.wanted), len(self.scale.of(aspect).steps)), np.nan)
            of_aspect = (frame["aspect"] == aspect).to_numpy()
            for e, name in enumerate(names):
                rows = np.flatnonzero(of_aspect & (frame["evaluator"] == name).to_numpy())
                at = self.wanted.get_indexer(pd.MultiIndex.from_frame(keys.iloc[rows]))
                shares[e, at[at >= 0]] = self._of_row[aspect][rows][at >= 0]
            found.append(shares)
        return found

    @cached_property
    def given(self) -> list[Given]:
        """What people said, by aspect."""
        at, found = self.unit_of_row, []
        for aspect in self.matched.prepared.aspects:
            values = self.scale.of(aspect).steps
            row = np.flatnonzero((self.ratings["aspect"] == aspect).to_numpy() & (at >= 0))
            value = (self.ratings["rating"].to_numpy(np.float64)[row] - values[0]).astype(np.int64)
            counts = np.zeros((len(self.wanted), len(values)))
            np.add.at(counts, (at[row], value), 1.0)
            found.append(Given(at[row], value, row.astype(np.int64), counts))
        return found

    def use(self, value: str) -> Bools:
        """Say of all units which enter: for the average, those that enter for each aspect."""
        entering = self.matched.prepared.entering
        every: Bools = np.all([entering[:, a].any(axis=0) for a in self.aspects_of(value)], axis=0)
        return every

    def units(self, value: str) -> Any:  # noqa: ANN401 - `SharedUnits`, which does what `MeasuredUnits` does
        """Return the units that enter for an aspect, or for the average."""
        use, aspects = self.use(value), self.aspects_of(value)
        return SharedUnits(
            [self.judged[a][:, use] for a in aspects],
            [self.given[a].shares[use] for a in aspects],
            self._clusters.among(use).take(use),
            self._in_set if self.sets and value == AVERAGE else None,
        )

    def _in_set(self, chosen: Floats, given: Floats) -> Floats:
        return covered(chosen, given, self.least)

    def missing(self, value: str) -> Ints:
        """Return how many distributions each evaluator lacks of the units that people rated, shape (E,)."""
        truth = self.matched.aligned.truth
        found = [
            np.isnan(self.judged[a][..., 0])[:, ~np.isnan(truth[a])].sum(axis=1)
            for a in self.aspects_of(value)
        ]
        total: Ints = np.sum(found, axis=0)
        return total

    def same(self, cell: Cell, one: str, other: str) -> bool:
        """Say whether two evaluators have the same distribution for every unit."""
        i, j = self.evaluators.index(one), self.evaluators.index(other)
        aspects = self.aspects_of(self.part(cell))
        return all(np.array_equal(self.judged[a][i], self.judged[a][j], equal_nan=True) for a in aspects)


def _with_distribution(scored: Scored[Any]) -> tuple[Matched, dict[str, Floats]]:
    """Return scores and truth, without scores that are no distribution; and each row's, by aspect."""
    table, aspects = scored.scores, [str(a) for a in scored.truth["aspect"].unique()]
    frame = table.frame.reset_index(drop=True)
    none = np.zeros(len(frame), dtype=bool)
    of_row: dict[str, Floats] = {}
    for aspect in aspects:
        scale, rows = scored.scale.of(aspect), np.flatnonzero((frame["aspect"] == aspect).to_numpy())
        of_row[aspect] = np.full((len(frame), len(scale.steps)), np.nan)
        of_row[aspect][rows] = shares_of(frame.iloc[rows], scale)
        none[rows] = np.isnan(of_row[aspect][rows]).any(axis=1)
    lost = none & frame["score"].notna().to_numpy()
    frame = frame.assign(
        score=frame["score"].mask(none), status=frame["status"].astype(str).mask(lost, Status.MISSING.value)
    )
    return Matched(replace(table, frame=frame), scored.truth, scored.study.policy), of_row


class LeftOut(NamedTuple):
    """How near judges and people who are left out are to the others, by a measure."""

    measure: Measure
    sums: Floats
    """Sums of the judge's values, of the person's, and numbers of units, shape (3, E, clusters)."""


def left_out(cells: PeopleCells, value: str) -> Iterator[LeftOut]:
    """Yield for each measure how near judges and people are to the others of a unit.

    Each person of a unit is left out in turn, and both are held against what the others said; a unit counts
    once. There is no such number for sets of labels.
    """
    use, places = cells.use(value), cells.aspects_of(value)
    clusters = cells.units(value).clusters
    several = np.logical_and.reduce([cells.given[a].counts[use].sum(axis=1) > 1 for a in places])
    for measure in cells.measures.values():
        if cells.sets and value == AVERAGE and measure.name == COVERAGE:
            continue
        total = np.zeros((2, len(cells.evaluators), len(use)))
        for a in places:
            given = cells.given[a]
            weight = len(places) * np.maximum(given.counts.sum(axis=1), 1.0)
            enters = use[given.unit] & (given.counts[given.unit].sum(axis=1) > 1)
            unit, rest = given.unit[enters], given.others[enters]
            own = np.eye(rest.shape[1])[given.value[enters]]
            total[1] += np.bincount(unit, measure.sums(own, rest)[0], len(use)) / weight
            for e, judged in enumerate(cells.judged[a]):
                total[0, e] += np.bincount(unit, measure.sums(judged[unit], rest)[0], len(use)) / weight
        counted = np.broadcast_to(several.astype(np.float64), (len(cells.evaluators), len(several)))
        each = (*(total[..., use] * several), counted)
        summed = [[np.bincount(clusters.of_unit, row, clusters.n) for row in rows] for rows in each]
        yield LeftOut(measure, np.array(summed))
