"""Recall and nDCG of recommenders with intervals, tests, and refusals where the log does not overlap."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from metaeval.base.errors import one_of
from metaeval.engine.intervals import Bootstrap
from metaeval.engine.sheet import Column, columns
from metaeval.kinds.exposure.data.log_set import PROPENSITY
from metaeval.kinds.exposure.off_policy.evaluation import ByColumn, contradiction, overlap_of
from metaeval.kinds.exposure.off_policy.policies import TargetPolicy, arrays_of
from metaeval.kinds.exposure.off_policy.tables import reasons, value_columns
from metaeval.kinds.exposure.propensity.tables import intervals_sentence, is_fitted
from metaeval.kinds.exposure.recommenders.sums import Recommended, some
from metaeval.kinds.exposure.scored import ExposureScored
from metaeval.kinds.table import KindTable
from metaeval.stats.coefficients.tables import Floats
from metaeval.stats.off_policy.estimators import (
    PLAIN,
    Estimator,
    Overlap,
    PolicySums,
    Rounds,
    policy_sums,
    refusals,
)
from metaeval.stats.resampling.bootstrap import estimated, refitted_interval
from metaeval.stats.resampling.cluster_sums import ClusterSums, Stack
from metaeval.stats.resampling.paired import paired_test
from metaeval.stats.resampling.significance import holm
from metaeval.stats.resampling.weights import one_thread


@one_thread()
def recommenders_frame(
    recommended: Recommended, intervals: Bootstrap | None, *, refits: int = 0, tests: bool = True
) -> pd.DataFrame:
    """Return a row per measure, estimator, change of weights and system; refused values are withheld.

    Fitted propensities are fitted again in so many ``refits``; fewer than two give no intervals. ``p_best``
    is of the paired test against the system with the highest value: values are swapped user by user (Holm).
    """
    every, systems = recommended.every, recommended.systems
    statistics = [recommended.statistic(measure, estimator) for measure, estimator in every]
    contradicted = contradiction(arrays_of(recommended.data, recommended.propensities))
    found = [overlap_with(recommended, system) for system in range(len(systems))]
    overlaps = [(sums, replace(overlap, contradicted=contradicted)) for sums, overlap in found]
    measured = np.isin(recommended.log.user[recommended.held.rows], recommended.users)
    refused = [
        [reasons(refusals(e, sums.weights[e.weighting], overlap)) for sums, overlap in overlaps]
        for _, e in recommended.every
    ]
    compared = _compared(recommended, statistics, refused)
    values, deltas = _estimates(recommended, statistics, compared, intervals, refits)
    rows: list[dict[str, Any]] = []
    for at, ((measure, estimator), statistic) in enumerate(zip(every, statistics, strict=True)):
        part = slice(at * len(systems), (at + 1) * len(systems))
        why = refused[at]
        numbers, less = (of[:, part] for of in (values, deltas))
        withheld = np.array([bool(reason) for reason in why])
        numbers[:, withheld] = np.nan
        less[:, withheld | withheld[compared[at]] | (np.arange(len(systems)) == compared[at])] = np.nan
        p = np.full(len(systems), np.nan)
        if tests and intervals:
            p = _against_best(statistic, numbers[0], intervals)
        for s, (system, (sums, overlap)) in enumerate(zip(systems, overlaps, strict=True)):
            weights, unshown = sums.weights[estimator.weighting], overlap.support.unshown
            rows.append(
                {
                    "system": system,
                    "measure": f"{measure}@{recommended.options.k}",
                    **value_columns(estimator, numbers[:, s], weights, unshown, why[s]),
                    **dict(zip(("delta", "delta_low", "delta_high"), less[:, s], strict=True)),
                    "baseline": systems[compared[at]],
                    "p_best": p[s],
                    "n_users": int(recommended.lists.has_list[s].sum()),
                    "n_positives": int(recommended.liked[measured].sum()),
                }
            )
    return pd.DataFrame(rows)


def _compared(
    recommended: Recommended, statistics: Sequence[ClusterSums], refused: Sequence[Sequence[str]]
) -> list[int]:
    """Return the recommender that others are compared with, for each measure and estimator."""
    systems, named = recommended.systems, recommended.options.baseline
    if named is not None:
        at = systems.index(one_of(named, systems, "no recommender that can be measured is called"))
        return [at] * len(statistics)
    ones = np.ones((len(recommended.users), 1))
    values = np.stack([statistic.at(ones)[:, 0] for statistic in statistics])
    return [int(of.argmax()) for of in np.where(np.array(refused) != "", -np.inf, np.nan_to_num(values))]


def _estimates(
    recommended: Recommended,
    statistics: Sequence[ClusterSums],
    compared: Sequence[int],
    intervals: Bootstrap | None,
    refits: int,
) -> tuple[Floats, Floats]:
    """Return the measures of every system, and how much more they are than those of the systems ``compared``.

    Values and ends of intervals, shape (3, measures x systems) each, on the same resamples.
    """
    n, resampler = len(recommended.users), intervals.resampler() if intervals else None

    def refitted(users: Floats) -> Floats:
        counts = np.ones(recommended.log.n_clusters)
        counts[recommended.users] = users
        anew = recommended.propensities.refitted(counts)
        values = [
            recommended.finish(recommended.by_user(anew, *one) @ users[:, None], *one)
            for one in recommended.every
        ]
        deltas = [of - of[[base]] for of, base in zip(values, compared, strict=True)]
        return np.concatenate([*values, *deltas])[:, 0]

    def less(statistic: ClusterSums, base: int) -> ClusterSums:
        def finished(sums: Floats) -> Floats:
            values = statistic.of_sums(sums)
            return values - values[[base]]

        return replace(statistic, of_sums=finished)

    both = Stack([*statistics, *map(less, statistics, compared)])
    half = len(statistics) * len(recommended.systems)
    bounds = [*[(0.0, np.inf)] * half, *[(-np.inf, np.inf)] * half]
    if recommended.propensities.model is None:
        found = estimated(both, n, resampler, bounds=bounds)
    elif resampler is not None and refits > 1:
        found = refitted_interval(ByColumn(refitted), replace(resampler.of(n), resamples=refits))
    else:
        found = estimated(both, n, None)
    numbers = np.stack([found.value, found.low, found.high])
    return numbers[:, :half], numbers[:, half:]


def _against_best(statistic: ClusterSums, value: Floats, intervals: Bootstrap) -> Floats:
    """Test every system against the one with the highest value that is not refused."""
    p, there = np.full(len(value), np.nan), np.flatnonzero(~np.isnan(value))
    if len(there) < 2:
        return p
    best = there[value[there].argmax()]
    one = [some(statistic, [s]) for s in range(len(value))]
    others = [s for s in there if s != best]
    swaps = intervals.resampler(statistic.by_cluster.shape[-1]).swaps
    p[others] = holm([paired_test([[one[best], one[s]]], swaps).p[0, 1] for s in others])
    return p


def overlap_with(recommended: Recommended, system: int) -> tuple[PolicySums, Overlap]:
    """Return how far the log shows the policy that shows the first K items of a system's lists alike.

    Users without a list are left out, and so are items that no list holds any more.
    """
    propensities, held, data = recommended.propensities, recommended.held, recommended.data
    every = propensities.log
    user, item = np.divmod(recommended.lists.pairs[system], len(every.items))
    mass = np.zeros((every.n_clusters, len(every.items)))
    mass[user, item] = 1.0
    listed = mass.sum(axis=1)
    kept = listed[every.user[held.rows]] > 0
    probability = held.probability(propensities, recommended.floor)[kept]
    shown = data.log.iloc[held.rows[kept]].assign(**{PROPENSITY: probability})
    log = arrays_of(replace(data, log=shown, exposure=propensities.exposure))
    items = [*log.items, *sorted(set(every.items) - set(log.items))]
    rows = every.users.get_indexer(pd.Index(log.users))
    places = every.items.get_indexer(pd.Index(items))
    table = (mass / np.maximum(listed, 1)[:, None])[np.ix_(rows, places)]
    policy = TargetPolicy(recommended.systems[system], items, table, log.cluster)
    weight = table[log.cluster, log.item] / log.propensity
    weightings = dict.fromkeys([PLAIN, *(e.weighting for e in recommended.options.every)])
    rounds = [(Rounds(log.outcome, weight, count=log.count), log.cluster)]
    sums = policy_sums(rounds, log.n_clusters, [Estimator("ips", w) for w in weightings])
    return sums, overlap_of(log, policy, sums)


def _make(scored: ExposureScored) -> pd.DataFrame | None:
    study = scored.study
    if scored.recommended is None:
        return None
    return recommenders_frame(
        scored.recommended, study.bootstrap, refits=study.propensity.refits, tests=study.tests is not None
    )


def _notes(scored: ExposureScored, frame: pd.DataFrame) -> Iterator[str]:
    held_out = scored.study.recommenders.held_out
    yield (
        "Recall: the share of all likes that are among the first items of their user's list. nDCG: the mean "
        "discounted gain over that of an ideal list. Naive: over the rows of the log alone, as if all items "
        "were shown."
    )
    if held_out < 1:
        yield (
            f"The latest {100 * held_out:g} % of each user's rows are held out. Items of the "
            "training part do not count as likes, but keep their ranks in lists."
        )
    else:
        yield "All rows of the log are held out: no recommender was trained on them."
    other = scored.study.recommenders.baseline or "the best of the same measure and estimator"
    yield f"Δ: the value less that of {other}, of the same users."
    refused = frame[(frame["reason"] != "") & frame["clip"].isna() & frame["trim"].isna()]
    if len(refused):
        why = refused.drop_duplicates("system")
        text = "; ".join(f"{s}: {r}" for s, r in zip(why["system"], why["reason"], strict=True))
        yield f"Refused values are withheld, because the log does not support them: {text}."
    if frame["p_best"].notna().any():
        yield "p: paired test against the best of the same measure and estimator, swapping users (Holm)."
    yield intervals_sentence(scored.study, fitted=is_fitted(scored))


RECOMMENDERS = KindTable(
    "recommenders.csv",
    "Recommenders, weighted by propensities",
    (
        *columns("text", measure="Measure", estimator="Estimator"),
        *(Column(name, name.capitalize(), "number", optional=True) for name in ("clip", "trim")),
        Column("system", "System"),
        Column("value", "Value", "decimal", "ci_low", "ci_high"),
        Column("delta", "Δ", "decimal", "delta_low", "delta_high"),
        Column("p_best", "p", "p", optional=True),
        Column("ess", "Effective sample size", "count"),
        Column("mean_weight", "Mean weight", "hundredths"),
        *columns("text", refused="Refused", reason="", baseline=""),
    ),
    _make,
    _notes,
    judged=False,
)
