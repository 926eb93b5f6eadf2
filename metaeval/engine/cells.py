"""Results of a kind, cell by cell: estimates with intervals, and paired tests."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from metaeval.base.records import AVERAGE
from metaeval.engine.alignment.prepared import Matched, Prepared
from metaeval.engine.board import Board, Cell
from metaeval.engine.correlation import correlated, correlation_board
from metaeval.engine.intervals import Bootstrap
from metaeval.engine.paired_tests import Comparisons, Tests, compare_prepared


class Cells(Protocol):
    """Scores compared with a truth."""

    def board(self, cell: Cell, *, intervals: bool = True) -> Board:
        """Return the estimates of all evaluators in one cell."""

    def compare(
        self,
        cell: Cell,
        tests: Tests,
        *,
        evaluators: Sequence[str] | None = None,
        corrected_with: int = 0,
    ) -> Comparisons:
        """Test every two evaluators, all if they are left out; see `metaeval.engine.paired_tests`."""

    def same(self, cell: Cell, one: str, other: str) -> bool:
        """Say whether two evaluators gave the same score to every unit that enters for both."""

    @property
    def common(self) -> bool:
        """Whether all evaluators are compared on the same units, not each two on those that both scored."""

    def entering(self, cell: Cell) -> int | None:
        """Return how many units all evaluators are compared on; None if it is all that there are."""


@dataclass(frozen=True, eq=False)
class CorrelationCells:
    """Correlations with a truth, of scores that may come from several runs."""

    matched: Matched
    """Its policy may be of any levels and coefficients."""
    bootstrap: Mapping[str, Any] | None = None

    def board(self, cell: Cell, *, intervals: bool = True) -> Board:
        """Correlate one column."""
        wanted = Bootstrap.read(self.bootstrap) if intervals else None
        return correlation_board(correlated(self._prepared(cell), self.matched.scores, wanted), cell)

    def compare(
        self,
        cell: Cell,
        tests: Tests,
        *,
        evaluators: Sequence[str] | None = None,
        corrected_with: int = 0,
    ) -> Comparisons:
        """Test every two evaluators by one column."""
        data = self._prepared(cell)
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
        return compare_prepared(data, cell, tests, corrected_with=corrected_with)

    def same(self, cell: Cell, one: str, other: str) -> bool:
        """Compare scores, after missing ones were filled in or dropped."""
        data = self._prepared(cell)
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
        data = self._prepared(cell)
        if not self.common or data.mask is None:
            return None
        return int(data.mask[:, _aspects(data, cell)].any(axis=(0, 1)).sum())

    def _prepared(self, cell: Cell) -> Prepared:
        return self._of_column(cell["level"], cell["coefficient"])

    @functools.cache  # noqa: B019 - it lives as long as one command
    def _of_column(self, level: str, coefficient: str) -> Prepared:
        return self.matched.chosen(levels=[level], coefficients=[coefficient])


def _aspects(data: Prepared, cell: Cell) -> slice | list[int]:
    """Return an index of the aspects that a column is made of."""
    return slice(None) if cell["aspect"] == AVERAGE else [data.aspects.index(cell["aspect"])]
