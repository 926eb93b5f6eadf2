"""Whether a map that was fitted on other data predicts a held-out group, against a margin.

The group is a bin of items, a segment of users or the later half of the log. The map from a judge's scores to
targets is fitted without the group, and predicts the target of each recommender within it. The intervals of
all errors hold at once (Bonferroni's correction over recommenders), users resampled:

- **transports**: every interval lies within ± the margin;
- **does not**: an interval lies wholly beyond the margin;
- **inconclusive**: neither, or no score of the group is in the range that was fitted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from metaeval.base.errors import MetaevalError, one_of
from metaeval.base.records import FIRST, SECOND
from metaeval.engine.sheet import Column, columns
from metaeval.kinds.exposure.data.log_set import TIME, USER, LogSet
from metaeval.kinds.exposure.propensity.exposures import Exposures, popularity_bins
from metaeval.kinds.exposure.recommenders.link import BY, LEAST, judged_scores, targets
from metaeval.kinds.exposure.recommenders.sums import LogPart, Recommended, some
from metaeval.kinds.exposure.recommenders.values import RECOMMENDERS
from metaeval.kinds.exposure.scored import ExposureScored
from metaeval.kinds.table import KindTable
from metaeval.stats.coefficients.tables import Floats, Ints
from metaeval.stats.off_policy.estimators import Estimator
from metaeval.stats.regression.isotonic import isotonic
from metaeval.stats.resampling.bootstrap import Resampler, rest_on_enough
from metaeval.stats.resampling.cluster_sums import ClusterSums, Statistic
from metaeval.stats.resampling.significance import FEWEST_CLUSTERS
from metaeval.stats.resampling.weights import one_thread, percentile_interval

POPULARITY, LATER = "popularity", "time"
_MOST = 20  # groups of one field
_HITS = 5  # hits of a recommender in a group, below which its target there says nothing
_FITTED = 1_000  # resamples at most: each fits a map
Outcome: TypeAlias = Literal["transports", "does not", "inconclusive"]


class LogGroup(NamedTuple):
    """A part of a log and of its pairs."""

    by: str
    name: str
    within: LogPart
    units: NDArray[np.bool_]
    """Which units of the data set are of it."""


def check(data: LogSet, by: str) -> None:
    """Raise `MetaevalError` unless the data set has what groups are made by."""
    fields = [] if data.profiles is None else [str(c) for c in data.profiles if c != USER]
    allowed = [
        *([POPULARITY] if POPULARITY in data.table else []),
        *([LATER] if TIME in data.log and data.log[TIME].notna().all() else []),
        *fields,
    ]
    one_of(by, allowed, "the data have no groups by", "they have groups by")


def groups_of(data: LogSet, log: Exposures, by: str) -> Iterator[LogGroup]:
    """Yield the parts of a log: every bin, every value of a field of profiles, or the later half of the rows.

    Raises `MetaevalError` if a field has more than twenty values.
    """
    units = data.table
    if by == POPULARITY:
        bins = popularity_bins(log)
        for name in sorted(units[POPULARITY].dropna().unique(), key=int):
            own = (units[POPULARITY] == name).to_numpy()
            yield LogGroup(by, str(name), LogPart(items=bins == int(name)), own)
    elif by == LATER and log.time is not None:
        middle = np.median(log.time)
        first = pd.Series(log.time).groupby([log.users[log.user], log.items[log.item]]).min()
        seen = [
            first.reindex(pd.MultiIndex.from_frame(units[[USER, side]].astype("str"))).to_numpy()
            for side in (FIRST, SECOND)
        ]
        yield LogGroup(by, "later half", LogPart(rows=log.time > middle), np.maximum(*seen) > middle)
    elif data.profiles is not None:
        field = data.profiles.set_index(USER)[by].astype("str")
        names = sorted(field.unique())
        if len(names) > _MOST:
            raise MetaevalError(
                f"groups by {by} would be {len(names)}, of {_MOST} at most; name a field with fewer values"
            )
        users, pairs = field.reindex(log.users), field.reindex(units[USER])
        for name in names:
            yield LogGroup(by, name, LogPart(users=(users == name).to_numpy()), (pairs == name).to_numpy())


@dataclass(frozen=True, slots=True, eq=False)
class TransportErrors:
    """What a map of the rest predicts for recommenders in a group, less what the group's targets are."""

    score: Statistic
    target: Statistic
    group_score: Statistic
    group_target: Statistic

    def at(self, weights: Floats) -> Floats:
        """Return the error of each recommender under each column of weights, shape (systems, columns)."""
        parts = [s.at(weights) for s in (self.score, self.target, self.group_score, self.group_target)]
        errors = np.full_like(parts[0], np.nan)
        for c in range(weights.shape[1]):
            x, y, own_x, own_y = (part[:, c] for part in parts)
            there = ~np.isnan(x + y)
            if there.any():
                errors[:, c] = isotonic(x[there], y[there])(own_x) - own_y
        return errors

    def outside(self, weights: Floats) -> NDArray[np.bool_]:
        """Say which scores in the group are out of the range that was fitted, shape (systems,)."""
        x, y, own = (s.at(weights)[:, 0] for s in (self.score, self.target, self.group_score))
        known = x[~np.isnan(x + y)]
        low, high = known.min(initial=np.inf), known.max(initial=-np.inf)
        return np.asarray(np.isnan(own) | (own < low) | (own > high))


class Audit(NamedTuple):
    """The outcome for one group, and the recommender whose interval reaches furthest; -1 if there is none."""

    outcome: Outcome
    system: int
    error: float
    error_low: float
    error_high: float
    margin: float
    n_systems: int
    n_outside: int
    reason: str


@one_thread()
def audit(errors: TransportErrors, margin: float, resampler: Resampler) -> Audit:
    """Hold the errors of a group against a margin, the largest error that does not matter.

    The resampler draws users; its confidence is that of all intervals together.
    """
    ones = np.ones((resampler.n_clusters, 1))
    value, outside = errors.at(ones)[:, 0], errors.outside(ones)
    fitted = int((~np.isnan(errors.score.at(ones) + errors.target.at(ones))).sum())
    there = ~np.isnan(value) & ~outside
    n, n_outside = int(there.sum()), int((outside & ~np.isnan(errors.group_target.at(ones)[:, 0])).sum())
    if fitted < LEAST or not n:
        why = f"{fitted} recommenders to fit a map on (at least {LEAST})"
        if fitted >= LEAST:
            why = "every score in the group is outside the range that was fitted"
        return Audit("inconclusive", -1, np.nan, np.nan, np.nan, margin, n, n_outside, why)
    fewer = resampler.at_most(_FITTED)
    level = 1 - (1 - fewer.level) / n
    known = rest_on_enough(errors, value, fewer.n_clusters)[there]
    ends = percentile_interval(fewer.replicates(errors)[there], level)
    low, high = (np.where(known, end, np.nan) for end in ends)
    reach = np.maximum(np.abs(low), np.abs(high))
    beyond = np.maximum(low, -high)  # the least |error| of an interval without 0
    outcome: Outcome = "inconclusive"
    reason, worst = "", int(np.nan_to_num(reach, nan=-1).argmax())
    if (beyond > margin).any():
        outcome, worst = "does not", int(np.nan_to_num(beyond, nan=-np.inf).argmax())
    elif (reach < margin).all():
        outcome = "transports"
    else:
        few = f"a value rests on fewer than {FEWEST_CLUSTERS} users"
        reason = "an interval reaches over the margin" if known.all() else few
    at = int(np.flatnonzero(there)[worst])
    deciding = float(low[worst]), float(high[worst])
    return Audit(outcome, at, float(value[at]), *deciding, margin, n, n_outside, reason)


@one_thread()
def audits(scored: ExposureScored) -> pd.DataFrame | None:
    """Audit the maps of every judge to the first measure, group by group; None without a margin."""
    study, recommended = scored.study, scored.recommended
    margin, options = study.margin, study.bootstrap
    if recommended is None or margin is None or options is None:
        return None
    resampler = options.resampler(len(recommended.users))
    groups = [g for by in study.transport for g in groups_of(recommended.data, recommended.log, by)]
    rows: list[dict[str, Any]] = []
    for measure, estimator, systems in targets(recommended, scored.table(RECOMMENDERS)):
        if measure != recommended.options.measures[0]:
            continue
        for group in groups:
            rest, within = (
                _target(recommended, measure, estimator, systems, part)
                for part in (group.within.others, group.within)
            )
            for name, judge in scored.once(judged_scores).items():
                scores = [some(judge.statistic(units), systems) for units in (~group.units, group.units)]
                result = audit(TransportErrors(scores[0], rest, scores[1], within), margin, resampler)
                rows.append(
                    {
                        "evaluator": name,
                        "measure": f"{measure}@{recommended.options.k}",
                        "estimator": estimator.name,
                        "by": group.by,
                        "group": group.name,
                        **result._asdict(),
                        "system": recommended.systems[systems[result.system]] if result.system >= 0 else "",
                    }
                )
    return pd.DataFrame(rows)


def _target(
    recommended: Recommended, measure: str, estimator: Estimator, systems: Ints, within: LogPart
) -> ClusterSums:
    """Return targets within a group, undefined for a recommender with hardly any hit there."""
    target = some(recommended.statistic(measure, estimator, within), systems)
    sums = recommended.by_user(recommended.propensities, "Recall", Estimator("naive"), within)
    blank = np.where(sums[0, systems].sum(axis=1) >= _HITS, 0.0, np.nan)[:, None]
    return ClusterSums(target.by_cluster, lambda sums: target.of_sums(sums) + blank)


TRANSPORT = KindTable(
    "transport.csv",
    "Transport of maps to held-out groups",
    (
        *BY,
        *columns("text", by="Groups by", group="Group", outcome="Outcome", system="Recommender"),
        Column("error", "Error", "decimal", "error_low", "error_high"),
        Column("margin", "Margin", "number"),
        *columns("count", n_systems="Recommenders", n_outside="Outside"),
        Column("reason", "Why"),
    ),
    audits,
    (
        (
            "The map is fitted without the group and predicts every recommender in it. Transports: all "
            "errors lie within ± the margin, by simultaneous intervals (Bonferroni). Does not: one interval"
            " lies wholly beyond it. The deciding recommender is shown."
        ),
    ),
)
