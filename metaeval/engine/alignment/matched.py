"""Scores and the truth of a study, aligned once for all that is made of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from metaeval.base.records import COEFFICIENTS
from metaeval.engine.alignment.policy import aligned, allowed, under

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from metaeval.base.records import ScoreTable
    from metaeval.engine.alignment.aligned import Aligned
    from metaeval.engine.alignment.policy import Policy, Prepared


@dataclass(frozen=True, eq=False)
class Matched:
    """Scores and the truth under the policy of a study."""

    scores: ScoreTable
    truth: pd.DataFrame
    """Key columns, ``aspect`` and ``rating``; NaN for a question without an answer."""
    policy: Policy

    @cached_property
    def aligned(self) -> Aligned:
        """Both over the same units, at the levels of the policy."""
        return aligned(self.scores, self.truth, self.policy.levels)

    @cached_property
    def prepared(self) -> Prepared:
        """Both as the policy leaves them."""
        return under(self.policy, self.aligned)

    def chosen(
        self,
        *,
        levels: Sequence[str] | None = None,
        coefficients: Sequence[str] | None = None,
        evaluators: Sequence[str] | None = None,
    ) -> Prepared:
        """Return the same at other levels, by other coefficients or of some evaluators; errors: `prepare`."""
        policy = replace(
            self.policy,
            levels=tuple(levels or self.policy.levels),
            coefficients=tuple(coefficients or self.policy.coefficients),
        )
        allowed("coefficients", policy.coefficients, COEFFICIENTS)
        there = set(policy.levels) <= set(self.aligned.groupings)
        whole = self.aligned if there else aligned(self.scores, self.truth, policy.levels)
        return under(policy, whole if evaluators is None else whole.among(evaluators))
