"""The ranks that a study allows its evaluators, who may be the best, who is better than a baseline."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from metaeval.base.records import Kind, ScoreTable
from metaeval.evaluators.chance import is_random
from metaeval.stats.coefficients.tables import Floats
from metaeval.stats.resampling.cluster_sums import is_smooth
from metaeval.stats.resampling.rank_ranges import (
    DRAWS,
    contributions,
    range_text,
    rank_ranges,
)
from metaeval.stats.resampling.significance import FEWEST_CLUSTERS, freedom

if TYPE_CHECKING:
    from metaeval.stats.resampling.cluster_sums import Statistic


class Rank(NamedTuple):
    """What is known of an evaluator's rank, 1 the best; None where it is not compared."""

    low: int | None = None
    """At least so many less one are better."""
    high: int | None = None
    low_simultaneous: int | None = None
    """The same of ranges that hold for all evaluators at once."""
    high_simultaneous: int | None = None
    p_best: float | None = None
    """That no other evaluator is better."""
    p_baseline: float | None = None
    """That it is no better than the baseline, corrected over all that are compared with that."""
    p_best_tool: float | None = None
    """That no other evaluator is better, people left out; None of people."""

    def __str__(self) -> str:
        """Return the range, such as ``3–10``; nothing where there is none."""
        return range_text(self.low, self.high)

    @property
    def simultaneous(self) -> str:
        """The range that holds with all others."""
        return range_text(self.low_simultaneous, self.high_simultaneous)


@dataclass(frozen=True, slots=True)
class Ranks:
    """The ranks of evaluators in one cell of a board (`metaeval.stats.resampling.rank_ranges`)."""

    of: Mapping[str, Rank]
    alpha: float
    cluster: str
    """What was resampled."""
    n_clusters: int
    seed: int
    draws: int = DRAWS
    refused: str = ""
    """Why there are none, as a clause."""
    baseline: str = ""
    """The evaluator that others are compared with; empty if the study has none."""
    untested: int = 0
    """Pairs of unequal estimates whose difference does not vary over clusters: neither is shown better."""

    def may_be_best(self, evaluator: str) -> bool | None:
        """Say whether an evaluator may be the best; None where it is not compared."""
        p = self.of[evaluator].p_best
        return None if p is None else p > self.alpha

    def may_be_best_tool(self, evaluator: str) -> bool | None:
        """Say whether an evaluator may be the best of those that are not people; None if it is one."""
        p = self.of[evaluator].p_best_tool
        return None if p is None else p > self.alpha

    def better_than_baseline(self, evaluator: str) -> bool | None:
        """Say whether an evaluator is shown better than the baseline; None if it is that, or not compared."""
        p = self.of[evaluator].p_baseline
        return None if p is None else p <= self.alpha

    def record(self) -> dict[str, Any]:
        """Return all as JSON values, for `of_record`."""
        return {**asdict(self), "of": {name: [*rank] for name, rank in self.of.items()}}

    @classmethod
    def of_record(cls, record: Mapping[str, Any]) -> Ranks:
        """Return what gave a record."""
        return cls(**{**record, "of": {name: Rank(*rank) for name, rank in record["of"].items()}})


def ranks_of(
    evaluators: Sequence[str],
    means: Sequence[Statistic | None],
    p_holm: Floats,
    facts: Mapping[str, Any],
    *,
    about: ScoreTable | None = None,
    higher_is_better: bool = True,
) -> tuple[Ranks, Floats]:
    """Rank evaluators by the last value of a statistic of each; None for one that is compared with no other.

    Parameters
    ----------
    p_holm
        Shape (E, E): p-values of every two, corrected by Holm.
    facts
        ``alpha``, ``cluster``, ``n_clusters`` and ``seed`` of the ranks.
    about
        Scores, which say what each evaluator is; without, none is the baseline.

    Returns
    -------
    The ranks, and half the widths of the intervals of differences, shape (E, E), by Student's t.
    """
    n, alpha = facts["n_clusters"], facts["alpha"]
    refused = ""
    if n < FEWEST_CLUSTERS:
        refused = f"fewer than {FEWEST_CLUSTERS} {facts['cluster']}s"
    elif not all(mean is None or is_smooth(mean) for mean in means):
        refused = "the order of few means does not change smoothly with the data"
    known = [None if refused else mean for mean in means]
    ones = np.ones((n, 1))
    sign = 1 if higher_is_better else -1
    theta = sign * np.array([math.nan if mean is None else mean.at(ones)[-1, 0] for mean in known])
    parts = [None if mean is None else contributions(mean, n)[-1] for mean in known]
    columns = next((len(part) for part in parts if part is not None), 0)
    psi = sign * np.stack([np.full(columns, math.nan) if part is None else part for part in parts])
    found = rank_ranges(theta, psi, p_holm, alpha=alpha, seed=facts["seed"])
    baseline = _baseline(evaluators, theta, about)
    p_baseline = found.p_better[:, evaluators.index(baseline)] if baseline else np.full(len(theta), math.nan)
    p_tool = found.p_best
    tools = [e for e, name in enumerate(evaluators) if not about or about.kinds.get(name) != Kind.ANNOTATOR]
    if len(tools) < len(evaluators):
        p_tool = np.full(len(theta), math.nan)
        if tools:
            own = rank_ranges(
                theta[tools], psi[tools], p_holm[np.ix_(tools, tools)], alpha=alpha, seed=facts["seed"]
            )
            p_tool[tools] = own.p_best
    ends = (found.low, found.high, found.low_all, found.high_all)
    ranks = {
        name: Rank(
            *(None if math.isnan(end[e]) else int(end[e]) for end in ends),
            *(None if math.isnan(p[e]) else float(p[e]) for p in (found.p_best, p_baseline, p_tool)),
        )
        for e, name in enumerate(evaluators)
    }
    from scipy.special import stdtrit

    half = stdtrit(freedom(columns), 1 - alpha / 2) * found.error
    return Ranks(ranks, **facts, refused=refused, baseline=baseline, untested=found.untested), half


def _baseline(evaluators: Sequence[str], theta: Floats, about: ScoreTable | None) -> str:
    """Return the best of the evaluators that draw at random, or else of all baselines."""
    if about is None:
        return ""
    compared = {name: value for name, value in zip(evaluators, theta, strict=True) if not math.isnan(value)}
    simple = [name for name in compared if about.kinds.get(name) == Kind.BASELINE]
    drawn = [name for name in simple if is_random(about.signatures.get(name, {}))]
    return max(drawn or simple, key=lambda name: compared[name], default="")
