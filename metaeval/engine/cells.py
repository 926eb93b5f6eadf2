"""Results of a kind, cell by cell: estimates with intervals, and paired tests."""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from metaeval.base.keys import ITEM, noun
from metaeval.base.records import AVERAGE
from metaeval.engine.alignment.prepared import Matched, Prepared
from metaeval.engine.board import Board, Cell
from metaeval.engine.correlation import Correlations, correlated, correlation_board
from metaeval.engine.order.paired_tests import Comparisons, Tests, compare_prepared, mean_of
from metaeval.stats.weighted.sums import Clusters

if TYPE_CHECKING:
    import pandas as pd

    from metaeval.engine.intervals import Bootstrap
    from metaeval.stats.resampling.cluster_sums import Statistic


@dataclass(frozen=True, slots=True, eq=False)
class Estimated:
    """A cell of each evaluator as a function of cluster weights."""

    statistics: Mapping[str, Statistic]
    """Evaluator → what has the cell as its last value; without those that are compared with no other."""
    cluster: str
    n_clusters: int
    higher_is_better: bool = True
    share: bool = False
    """Whether estimates are shares of units."""
    mean: Callable[[Sequence[str]], Statistic] | None = None
    """Returns that of the mean of the standardised scores of several; None where there is no such mean."""


_MOST_PERMUTATIONS = 10_000  # in columns other than the one that orders the leaderboard
_MOST_TESTED = 32  # evaluators, above which only that column is tested


class Cells(ABC):
    """Scores compared with a truth: what can be estimated and tested, by two kinds of arithmetic.

    `CorrelationCells` correlate scores with the truth, `metaeval.engine.measures.MeasuredCells` sum them up.
    """

    phase: ClassVar[str] = "estimating"
    """What the progress line calls the making of the board."""

    @abstractmethod
    def board(self, cell: Cell | None = None, *, intervals: bool = True) -> Board:
        """Return the estimates of all evaluators in one cell; in all, if it is left out."""

    @abstractmethod
    def tested(self, order: Cell, how: Tests) -> list[tuple[Cell, Tests]]:
        """Return the cells whose tests can be afforded, and how each is tested.

        ``how`` is what the study says for ``order``, the cell that orders the leaderboard.
        """

    @abstractmethod
    def compare(
        self,
        cell: Cell,
        tests: Tests,
        *,
        evaluators: Sequence[str] | None = None,
        corrected_with: int = 0,
    ) -> Comparisons:
        """Test every two evaluators, all if they are left out; see `metaeval.engine.order.paired_tests`."""

    @abstractmethod
    def statistics(self, cell: Cell, names: Sequence[str]) -> Sequence[tuple[Sequence[Statistic], int]]:
        """Return the statistic of each evaluator in a cell, and of how many clusters it is.

        Its last value is the estimate. Where users and items both are there, users come first, and then the
        same of items and of their pairs.
        """

    @abstractmethod
    def estimated(self, cell: Cell) -> Estimated:
        """Return what each evaluator's estimate in a cell is computed by."""

    @abstractmethod
    def same(self, cell: Cell, one: str, other: str) -> bool:
        """Say whether two evaluators gave the same score to every unit that enters for both."""

    @abstractmethod
    def entering(self, cell: Cell) -> int | None:
        """Return how many units all evaluators are compared on; None if it is all that there are."""

    @property
    def common(self) -> bool:
        """Whether all evaluators are compared on the same units, not each two on those that both scored."""
        return True

    @property
    def record(self) -> Mapping[str, Any]:
        """What was done with missing values and the like, for ``run.json``."""
        return {}

    @property
    def file_rows(self) -> pd.DataFrame | None:
        """What the file of the board holds, where that is more than the frame of the board."""
        return None


class CorrelationCells(Cells):
    """Correlations with a truth, of scores that may come from several runs.

    A cell may be of a level or a coefficient that the policy of ``matched`` does not name.
    """

    phase = "correlating"

    def __init__(self, matched: Matched, bootstrap: Bootstrap | None = None) -> None:
        self.matched, self.bootstrap = matched, bootstrap

    @functools.cached_property
    def whole(self) -> Correlations:
        """The correlations of all cells."""
        return correlated(self.matched.prepared, self.matched.scores, self.bootstrap)

    def board(self, cell: Cell | None = None, *, intervals: bool = True) -> Board:
        """Correlate the column of a cell, or all."""
        if cell is None:
            return correlation_board(self.whole)
        data = self.matched.chosen(levels=[cell["level"]], coefficients=[cell["coefficient"]])
        wanted = self.bootstrap if intervals else None
        return correlation_board(correlated(data, self.matched.scores, wanted), cell)

    def tested(self, order: Cell, how: Tests) -> list[tuple[Cell, Tests]]:
        """Return the column that orders the leaderboard, then those that do not take long.

        Ranks over all units do, and more than a few evaluators.
        """
        data, first = self.matched.prepared, (order, how)
        if len(data.evaluators) > _MOST_TESTED:
            return [first]
        quick = how.model_copy(update={"permutations": min(how.permutations, _MOST_PERMUTATIONS)})
        others = (
            {"aspect": aspect, "level": level, "coefficient": coefficient}
            for aspect in [*data.aspects, *([AVERAGE] if len(data.aspects) > 1 else [])]
            for level in data.policy.levels
            for coefficient in data.policy.coefficients
            if coefficient == "pearson" or level != "dataset"
        )
        return [first, *((cell, quick) for cell in others if cell != order)]

    def compare(
        self,
        cell: Cell,
        tests: Tests,
        *,
        evaluators: Sequence[str] | None = None,
        corrected_with: int = 0,
    ) -> Comparisons:
        """Test every two evaluators by one column."""
        data = self._with(cell["level"], cell["coefficient"])
        if evaluators is not None:
            # The units stay those on which all evaluators are compared.
            at = [data.evaluators.index(name) for name in evaluators]
            data = replace(
                data,
                evaluators=list(evaluators),
                scores=data.scores[at],
                mask=None if data.mask is None else data.mask[at],
                n_missing=data.n_missing[at],
            )
        return compare_prepared(data, cell, tests, corrected_with=corrected_with, about=self.matched.scores)

    def statistics(self, cell: Cell, names: Sequence[str]) -> Sequence[tuple[Sequence[Statistic], int]]:
        """Return them by users, items and pairs, or by the first key alone."""
        data = self._with(cell["level"], cell["coefficient"])
        by = [data.clusters(data.cluster_name())]
        if data.has_users and ITEM in map(noun, data.keys):
            items = data.clusters(ITEM)
            pairs = Clusters(by[0].of_unit * items.n + items.of_unit, by[0].n * items.n)
            by += [items, pairs.among(np.logical_or.reduce(data.entering, axis=(0, 1)))]
        at = [data.evaluators.index(name) for name in names]
        return [([mean_of(data, cell, [e], clusters) for e in at], clusters.n) for clusters in by]

    def estimated(self, cell: Cell) -> Estimated:
        """Return the correlations of one column, and of means of several evaluators."""
        data = self._with(cell["level"], cell["coefficient"])
        cluster = data.cluster_name()
        clusters = data.clusters(cluster)

        def mean(names: Sequence[str]) -> Statistic:
            return mean_of(data, cell, [data.evaluators.index(name) for name in names], clusters)

        alone = {name: mean([name]) for name in data.evaluators if name not in data.apart}
        return Estimated(alone, cluster, clusters.n, mean=mean)

    def same(self, cell: Cell, one: str, other: str) -> bool:
        """Compare scores, after missing ones were filled in or dropped."""
        data = self._with(cell["level"], cell["coefficient"])
        at, aspects = [data.evaluators.index(e) for e in (one, other)], _aspects(data, cell)
        differs = data.scores[at[0], aspects] != data.scores[at[1], aspects]
        if data.mask is not None:
            differs &= data.mask[at[0], aspects] & data.mask[at[1], aspects]
        return not differs.any()

    @property
    def common(self) -> bool:
        """Whether the policy says so."""
        return self.matched.policy.common

    def entering(self, cell: Cell) -> int | None:
        """Return how many units enter where missing scores drop them."""
        data = self._with(cell["level"], cell["coefficient"])
        if not self.common or data.mask is None:
            return None
        return int(data.mask[:, _aspects(data, cell)].any(axis=(0, 1)).sum())

    @property
    def record(self) -> Mapping[str, Any]:
        """The policy, and what it left out."""
        return self.whole.policy

    @property
    def file_rows(self) -> pd.DataFrame:
        """All correlations; with the average over aspects where there is one aspect, too."""
        return self.whole.frame

    @functools.cache  # noqa: B019 - it lives as long as one command
    def _with(self, level: str, coefficient: str) -> Prepared:
        """Return scores and truth at a level and by a coefficient, perhaps by others, too."""
        policy = self.matched.policy
        if level in policy.levels and coefficient in policy.coefficients:
            return self.matched.prepared
        return self.matched.chosen(levels=[level], coefficients=[coefficient])


def _aspects(data: Prepared, cell: Cell) -> slice | list[int]:
    """Return an index of the aspects that a column is made of."""
    return slice(None) if cell["aspect"] == AVERAGE else [data.aspects.index(cell["aspect"])]
