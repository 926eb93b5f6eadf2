"""Ensembles of judges: the accuracy of the mean of every subset, contributions of judges, and costs.

By size this is Figure 4 of the study of LLM judges of explanations at RecSys 2024.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd

from metaeval.analysis.ensemble_frontier import Accuracy, Choosing, chosen, frontier
from metaeval.base.errors import MetaevalError
from metaeval.base.records import AVERAGE
from metaeval.engine.alignment.aligned import Bools
from metaeval.engine.alignment.prepared import Prepared
from metaeval.stats.coefficients.tables import Floats, squarable
from metaeval.stats.resampling.cluster_sums import with_average
from metaeval.stats.resampling.weights import one_thread
from metaeval.stats.subset_correlations import (
    MOST_JUDGES,
    effective_number,
    error_correlation,
    every_subset,
    joining,
    shapley,
    subset_statistic,
)
from metaeval.stats.weighted.sums import Clusters

Unit: TypeAlias = Literal["usd", "tokens", "judges"]

_SUMMED_UP: dict[str, Callable[[Floats], Any]] = {
    "mean": np.mean,
    "best": np.max,
    "worst": np.min,
    "spread": np.std,
}


@dataclass(frozen=True, slots=True)
class Costs:
    """Costs of the judges."""

    of_judge: Mapping[str, float]
    unit: Unit
    """``judges`` where costs are not known: each costs one."""


@dataclass(frozen=True, slots=True, eq=False)
class Ensembles:
    """Result of `ensembles`."""

    judges: tuple[str, ...]
    aspects: tuple[str, ...]
    """The last one is ``average`` if there are several."""
    levels: tuple[str, ...]
    accuracy: Floats
    """Shape (levels, aspects, 2^K − 1): Pearson's r of every subset's mean with the truth."""
    members: Bools
    """Shape (2^K − 1, K): who is in each subset."""
    n_units: tuple[int, ...]
    """Units that all judges have, one per aspect, without the average."""
    n_missing: int
    """Scores that judges did not give, over all judges and aspects."""
    unequal: float
    """Largest over smallest standard deviation of the judges' scores, in the aspect where it is largest."""
    costs: Costs
    cluster: str
    n_clusters: int
    has_users: bool
    between: tuple[str, ...]
    """Levels that correlate means, such as those of generators."""
    how: Choosing
    sizes: pd.DataFrame
    """A row per level, aspect and number of judges: ``n_subsets`` and, of those with a defined accuracy, its
    ``mean``, ``best``, ``worst`` and ``spread`` (standard deviation), and the ``best_judges``."""
    contributions: pd.DataFrame
    """A row per level and judge, by the average over aspects: the accuracy ``alone``, the mean gain when it
    joins, over all orders of the judges (``shapley``) and over the non-empty subsets (``joining``)."""
    errors: pd.DataFrame
    """A row per aspect: the ``mean_correlation`` between the errors of two judges (standardised score less
    standardised truth), and the ``effective`` number of judges (Kish 1965)."""
    points: pd.DataFrame
    """A row per level and ensemble on the Pareto frontier (none that costs as much or less is more accurate):
    ``judges``, ``cost``, ``accuracy`` with ``ci_low`` and ``ci_high``, and ``p`` of the one-sided test that
    the best ensemble is better (NaN for the best). Whether it is significantly ``worse``, the ``best``, or
    the ``cheapest`` that is not significantly worse."""
    choices: pd.DataFrame
    """A row per level and ``rule`` for choosing an ensemble: the ``judges`` chosen on all clusters, their
    ``cost`` and their accuracy there (``in_sample``); the mean accuracy on held-out clusters of the ensembles
    chosen without them (``cross_fitted``), and their mean ``cross_fitted_cost``; ``optimism``, the mean
    accuracy on the same clusters of the ensemble chosen on all, less ``cross_fitted``; and the share of the
    splits with the ``same`` choice."""


@one_thread()
def ensembles(
    data: Prepared,
    *,
    aspects: Sequence[str] | None = None,
    costs: Costs | None = None,
    cluster: str | None = None,
    how: Choosing | None = None,
) -> Ensembles:
    """Compare the means of all subsets of the judges.

    A mean is taken of the scores as the study's policy fills them, on the units that all judges have.

    Parameters
    ----------
    data
        The judges' scores and the truth; every evaluator in it is a judge, 2 to 16 of them.
    aspects, costs, cluster
        The aspects to use, and to average over (all if None); costs of the judges (1 each if None); what is
        resampled and held out (users, or items in data without users, if None).

    Raises
    ------
    MetaevalError
        For fewer than 2 or more than 16 judges, an unknown aspect, no common unit, or a single cluster.
    """
    names, how = tuple(data.evaluators), how or Choosing()
    if not 2 <= len(names) <= MOST_JUDGES:
        raise MetaevalError(
            f"an ensemble takes 2 to {MOST_JUDGES} judges, not {len(names)}, because every subset is "
            "computed; choose them with --judge"
        )
    costs = costs or Costs(dict.fromkeys(names, 1.0), "judges")
    wanted = sorted(set(data.places(aspects)))
    units = _common_units(data, wanted)
    cluster = data.cluster_name(cluster)
    clusters = data.clusters(cluster).among(np.logical_or.reduce(units))
    if clusters.n < 2:
        raise MetaevalError(
            f"all units are of one {cluster}: ensembles are chosen on some and evaluated on others, which "
            "needs two or more"
        )
    levels = tuple(data.policy.levels)
    by_level = [_accuracy(data, level, wanted, units, clusters) for level in levels]
    labels = (*(data.aspects[a] for a in wanted), *([AVERAGE] if len(wanted) > 1 else []))
    found = np.stack([with_average(of_level.by_aspect()[..., 0]) for of_level in by_level])
    members = every_subset(len(names))
    cost_of = np.array([costs.of_judge[name] for name in names])
    cost = members @ cost_of
    ends = [frontier(of_level, names, cost, how) for of_level in by_level]
    return Ensembles(
        names,
        labels,
        levels,
        found,
        members,
        tuple(int(u.sum()) for u in units),
        int(data.n_missing[:, wanted].sum()),
        _unequal(data, wanted, units),
        costs,
        cluster,
        clusters.n,
        data.has_users,
        data.between,
        how,
        pd.DataFrame(
            [
                row
                for level, r in zip(levels, found, strict=True)
                for row in _sizes(level, labels, r, members, names)
            ]
        ),
        pd.concat(
            [_contributions(level, names, r[-1], cost_of) for level, r in zip(levels, found, strict=True)],
            ignore_index=True,
        ),
        _errors(data, wanted, units, labels),
        pd.DataFrame([point for points, _ in ends for point in points]),
        pd.DataFrame([choice for _, choices in ends for choice in choices]),
    )


def _common_units(data: Prepared, aspects: Sequence[int]) -> list[Bools]:
    """Return which units all judges have, for each aspect."""
    units: list[Bools] = [np.logical_and.reduce(data.entering[:, a]) for a in aspects]
    for a, common in zip(aspects, units, strict=True):
        if not common.any():
            raise MetaevalError(
                f"no unit has a score for {data.aspects[a]!r} from all {len(data.evaluators)} judges: "
                "choose others with --judge, or fill missing scores in the study (`missing.score`)"
            )
    return units


def _unequal(data: Prepared, aspects: Sequence[int], units: Sequence[Bools]) -> float:
    """Return the largest ratio of the judges' standard deviations, without constant scores."""
    found = [1.0]
    for a, there in zip(aspects, units, strict=True):
        spread = squarable(data.scores[:, a, there]).std(axis=1)
        varied = spread[spread > 0]
        found.append(float(varied.max() / varied.min()) if len(varied) else 1.0)
    return max(found)


def _accuracy(
    data: Prepared, level: str, aspects: Sequence[int], units: Sequence[Bools], clusters: Clusters
) -> Accuracy:
    g = data.groupings[level]
    statistics = tuple(
        subset_statistic(
            data.scores[:, a, there],
            data.truth[a, there],
            g.take(there),
            clusters.take(there),
            undefined=data.policy.undefined,
        )
        for a, there in zip(aspects, units, strict=True)
    )
    return Accuracy(level, g.between, statistics, len(data.evaluators), clusters.n)


def _sizes(
    level: str, aspects: Sequence[str], found: Floats, members: Bools, names: Sequence[str]
) -> Iterator[dict[str, Any]]:
    """Sum up the subsets of each size; ``found`` has shape (aspects, subsets)."""
    size = members.sum(axis=1)
    for aspect, values in zip(aspects, found, strict=True):
        for k in range(1, len(names) + 1):
            of_size = np.flatnonzero(size == k)
            here = of_size[~np.isnan(values[of_size])]
            v = values[here]
            yield {
                "level": level,
                "aspect": aspect,
                "n_judges": k,
                "n_subsets": len(of_size),
                "n_undefined": len(of_size) - len(v),
                **{name: float(of(v)) if len(v) else math.nan for name, of in _SUMMED_UP.items()},
                "best_judges": chosen(names, members[here[v.argmax()]]) if len(v) else (),
            }


def _contributions(level: str, names: Sequence[str], values: Floats, cost: Floats) -> pd.DataFrame:
    known = np.where(np.isnan(values), 0.0, values)  # an undefined accuracy counts as 0
    return pd.DataFrame(
        {
            "level": level,
            "judge": names,
            "alone": values[2 ** np.arange(len(names)) - 1],
            "shapley": shapley(known),
            "joining": joining(known),
            "cost": cost,
        }
    )


def _errors(
    data: Prepared, aspects: Sequence[int], units: Sequence[Bools], labels: Sequence[str]
) -> pd.DataFrame:
    r = [
        error_correlation(data.scores[:, a, there], data.truth[a, there])
        for a, there in zip(aspects, units, strict=True)
    ]
    if len(r) > 1:
        r.append(float(np.mean(r)))
    n = len(data.evaluators)
    effective = [effective_number(n, v) for v in r]
    return pd.DataFrame({"aspect": labels, "n_judges": n, "mean_correlation": r, "effective": effective})
