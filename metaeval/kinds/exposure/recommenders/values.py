"""Recall and nDCG of recommenders with intervals, tests, and refusals where the log does not overlap."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from metaeval.kinds.exposure.data.log_set import PROPENSITY
from metaeval.kinds.exposure.off_policy.arrays import arrays_of
from metaeval.kinds.exposure.off_policy.evaluation import RULE, overlap_of
from metaeval.kinds.exposure.off_policy.policies import TargetPolicy
from metaeval.stats.off_policy.estimators import policy_sums
from metaeval.stats.off_policy.refusal import refusals
from metaeval.stats.off_policy.terms import PLAIN, Estimator, Rounds
from metaeval.stats.resampling.bootstrap import Estimate, bootstrap, refitted_interval
from metaeval.stats.resampling.cluster_sums import ClusterSums, Stack
from metaeval.stats.resampling.multiplicity import holm
from metaeval.stats.resampling.paired import paired_test
from metaeval.stats.resampling.threads import one_thread

if TYPE_CHECKING:
    from metaeval.engine.intervals import Bootstrap
    from metaeval.kinds.exposure.recommenders.sums import Recommended
    from metaeval.stats.coefficients.tables import Floats
    from metaeval.stats.off_policy.estimators import PolicySums
    from metaeval.stats.off_policy.refusal import Overlap

IPS = Estimator("ips")


@dataclass(frozen=True, slots=True, eq=False)
class _Refitted:
    """All values, with propensities fitted again under each column of weights."""

    of: Recommended

    def at(self, weights: Floats) -> Floats:
        of, columns = self.of, []
        for users in weights.T:
            model = self.of.given.model
            if model is None:
                raise ValueError("logged propensities are not fitted")
            counts = np.ones(of.given.of.n_clusters)
            counts[of.users] = users
            anew = model.refitted(counts)
            given = replace(of.given, probability=anew.of_log(), model=anew)
            found = [
                of.finish(of.by_user(given, measure, estimator) @ users[:, None], measure, estimator)
                for measure, estimator in _every(of)
            ]
            columns.append(np.concatenate(found))
        return np.concatenate(columns, axis=1)


def _every(of: Recommended) -> list[tuple[str, Estimator]]:
    return [(measure, estimator) for measure in of.options.measures for estimator in of.options.every]


@one_thread()
def recommenders_frame(
    of: Recommended, how: Bootstrap | None, *, refits: int = 0, tests: bool = True
) -> pd.DataFrame:
    """Return a row per measure, estimator, change of weights and system.

    Parameters
    ----------
    how
        How users are resampled; None for no intervals and no tests.
    refits
        Resamples in which fitted propensities are fitted again; with fewer than two there are no intervals.
    tests
        Whether each system is tested against the best.

    Returns
    -------
    DataFrame
        ``system, measure, estimator, clip, value, ci_low, ci_high, ess, mean_weight, support, refused,
        reason, trim, p_best, n_users, n_positives``. Values that are refused are withheld. ``p_best`` is of
        the paired test against the system with the highest value: values are swapped user by user (Holm).
    """
    n = len(of.users)
    statistics = [of.statistic(measure, estimator) for measure, estimator in _every(of)]
    found = _estimate(of, statistics, how, refits)
    overlaps = [overlap_with(of, system) for system in range(len(of.systems))]
    rows: list[dict[str, Any]] = []
    at = 0
    for (measure, estimator), statistic in zip(_every(of), statistics, strict=True):
        part = slice(at, at + len(of.systems))
        at = part.stop
        why = [_reasons(overlap, estimator) for overlap in overlaps]
        value = np.where([bool(w) for w in why], np.nan, found.value[part])
        p = np.full(len(value), np.nan)
        if tests and how is not None:
            p = _against_best(statistic, value, how, n)
        for s, system in enumerate(of.systems):
            (sums, overlap), (_, (change, limit)) = overlaps[s], estimator
            used = estimator.name != "naive"
            kept = not why[s]
            rows.append(
                {
                    "system": system,
                    "measure": f"{measure}@{of.options.k}",
                    "estimator": estimator.name,
                    "clip": limit if change == "clip" else np.nan,
                    "value": value[s],
                    "ci_low": found.low[part][s] if kept else np.nan,
                    "ci_high": found.high[part][s] if kept else np.nan,
                    "ess": sums.weights[estimator.weighting].effective if used else np.nan,
                    "mean_weight": sums.weights[estimator.weighting].mean if used else np.nan,
                    "support": 1 - overlap.support.unshown,
                    "refused": not kept,
                    "reason": why[s],
                    "trim": limit if change == "trim" else np.nan,
                    "p_best": p[s],
                    "n_users": int(of.lists.has_list[s].sum()),
                    "n_positives": int(of.liked[np.isin(of.given.of.user[of.held.rows], of.users)].sum()),
                }
            )
    return pd.DataFrame(rows)


def _estimate(
    of: Recommended, statistics: list[ClusterSums], how: Bootstrap | None, refits: int
) -> Estimate[Floats]:
    n, every = len(of.users), Stack(statistics)
    if how is not None and of.given.model is None:
        return bootstrap(every, how.resampler(n), bounds=(0.0, np.inf))
    if how is not None and refits > 1:
        return refitted_interval(_Refitted(of), replace(how.resampler(n), resamples=refits))
    value = every.at(np.ones((n, 1)))[:, 0]
    return Estimate(value, value * np.nan, value * np.nan, n)


def _against_best(statistic: ClusterSums, value: Floats, how: Bootstrap, n: int) -> Floats:
    """Test every system against the one with the highest value that is not refused."""
    p, there = np.full(len(value), np.nan), np.flatnonzero(~np.isnan(value))
    if len(there) < 2:
        return p
    best = there[value[there].argmax()]
    one = [ClusterSums(statistic.by_cluster[:, s : s + 1], statistic.of_sums) for s in range(len(value))]
    others = [s for s in there if s != best]
    swaps = how.resampler(n).swaps
    p[others] = holm([paired_test([[one[best], one[s]]], swaps).p[0, 1] for s in others])
    return p


def overlap_with(of: Recommended, system: int) -> tuple[PolicySums, Overlap]:
    """Return how far the log shows the policy that shows the first K items of a system's lists alike.

    Users without a list are left out, and so are items that no list holds any more.
    """
    given, held, data = of.given, of.held, of.data
    n_items = len(given.of.items)
    user, item = np.divmod(of.lists.pairs[system], n_items)
    mass = np.zeros((given.of.n_clusters, n_items))
    mass[user, item] = 1.0
    listed = mass.sum(axis=1)
    kept = listed[given.of.user[held.rows]] > 0
    shown = data.log.iloc[held.rows[kept]].assign(**{PROPENSITY: held.probability(given, of.floor)[kept]})
    log = arrays_of(replace(data, log=shown, exposure=given.exposure))
    items = [*log.items, *sorted(set(given.of.items) - set(log.items))]
    rows = given.of.users.get_indexer(pd.Index(log.users))
    columns = given.of.items.get_indexer(pd.Index(items))
    table = (mass / np.maximum(listed, 1)[:, None])[np.ix_(rows, columns)]
    policy = TargetPolicy(of.systems[system], items, table, log.cluster)
    weight = table[log.cluster, log.item] / log.propensity
    weightings = dict.fromkeys([PLAIN, *(e.weighting for e in of.options.every)])
    sums = policy_sums(
        [(Rounds(log.outcome, weight, count=log.count), log.cluster)],
        log.n_clusters,
        [Estimator("ips", w) for w in weightings],
    )
    return sums, overlap_of(log, policy, sums)


def _reasons(found: tuple[PolicySums, Overlap], estimator: Estimator) -> str:
    sums, overlap = found
    why = refusals(estimator, sums.weights[estimator.weighting], overlap, RULE)
    return "; ".join(f"{r.reason}: {r.text}" for r in why)
