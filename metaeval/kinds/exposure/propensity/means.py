"""The mean outcome of a log, weighted by propensities, beside that of items drawn at random."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from metaeval.kinds.exposure.data.log_set import OUTCOME, USER
from metaeval.stats.resampling.bootstrap import Estimate, Resampler, Statistic, bootstrap
from metaeval.stats.resampling.cluster_sums import ClusterSums, ratio

if TYPE_CHECKING:
    from collections.abc import Callable

    from metaeval.engine.intervals import Bootstrap
    from metaeval.kinds.exposure.data.log_set import LogSet
    from metaeval.kinds.exposure.propensity.options import PropensityOptions
    from metaeval.kinds.exposure.propensity.propensities import Propensities
    from metaeval.stats.coefficients.tables import Floats

_MOST = 2**14  # clusters that are resampled
NAIVE, IPS, SNIPS, RANDOM = "naive", "ips", "snips", "random sample"


@dataclass(frozen=True, eq=False)
class LogMeans:
    """Three means of a log, as a function of how often each user counts.

    ``naive`` is Σy / n, ``ips`` Σwy / N and ``snips`` Σwy / Σw. N is what the weights should add up to: all
    users × all items for propensities of pairs, the rows for those of choices. Fitted propensities are fitted
    anew under each column of weights.
    """

    given: Propensities

    def at(self, weights: Floats) -> Floats:
        """Return the three means under each column of weights, shape (3, columns)."""
        if self.given.model is None:
            return _means(self.sums @ weights)
        columns = []
        for users in weights.T:
            model = self.given.model.refitted(users)
            anew = replace(self.given, probability=model.of_log(), model=model)
            columns.append(_means(LogMeans(anew).sums @ users[:, None]))
        return np.concatenate(columns, axis=1)

    @cached_property
    def sums(self) -> Floats:
        """Of each user: rows, outcomes, weights, weighted outcomes, and what the weights should add up to."""
        of, w = self.given.of, self.given.weight
        rows = (np.ones(len(of)), of.outcome, w, w * of.outcome)
        by_user = [np.bincount(of.user, column, of.n_clusters) for column in rows]
        return np.stack([*by_user, self.given.by_user])


def _means(sums: Floats) -> Floats:
    n, y, total, weighted, expected = sums
    return np.stack([ratio(y, n), ratio(weighted, expected), ratio(weighted, total)])


def means_frame(
    data: LogSet, given: Propensities, options: PropensityOptions, how: Bootstrap | None
) -> pd.DataFrame:
    """Return each mean with its interval, and how much of the gap to the random sample weighting closes.

    Parameters
    ----------
    how
        How users, or rows where there are none, are resampled; None for no intervals. Where propensities are
        fitted, there are ``options.refits`` resamples, and the interval is the estimate ± the t quantile ×
        their standard deviation.
    """
    statistic = LogMeans(given)
    resampler = how.resampler(given.of.n_clusters) if how else None
    if resampler is not None and given.model is not None:
        resampler = replace(resampler, resamples=options.refits) if options.refits > 1 else None
    if resampler is None:
        point = statistic.at(np.ones((given.of.n_clusters, 1)))[:, 0]
        nothing = np.full(3, np.nan)
        found = Estimate(point, nothing, nothing, given.of.n_clusters)
    elif given.model is None:
        found = _bootstrap(statistic.sums, _means, resampler)
    else:
        found = refitted_interval(statistic, resampler)
    rows = {name: (found.value[i], found.low[i], found.high[i]) for i, name in enumerate((NAIVE, IPS, SNIPS))}
    if data.test is not None:
        rows[RANDOM] = _random(data.test, how)
    frame = pd.DataFrame.from_dict(rows, orient="index", columns=["value", "ci_low", "ci_high"])
    gap = rows[NAIVE][0] - rows[RANDOM][0] if RANDOM in rows else np.nan
    closed = (rows[NAIVE][0] - frame["value"]) / (gap or np.nan)
    frame["closed"] = closed.where(frame.index.isin([IPS, SNIPS]))
    frame["resampled"] = "users" if len(given.of.users) else "rows"
    return frame.rename_axis("mean").reset_index()


def refitted_interval(statistic: Statistic, resampler: Resampler) -> Estimate[Floats]:
    """Estimate a statistic of which few resamples are affordable: ± the t quantile × their deviation."""
    value = statistic.at(np.ones((resampler.n_clusters, 1)))[:, 0]
    spread = np.nanstd(resampler.replicates(statistic), axis=1, ddof=1)
    half = stdtrit(resampler.resamples - 1, (1 + resampler.confidence) / 2) * spread
    return Estimate(value, value - half, value + half, resampler.n_clusters)


def _random(test: pd.DataFrame, how: Bootstrap | None) -> tuple[float, float, float]:
    by_user = test.groupby(USER, sort=True)[OUTCOME].agg(["sum", "count"]).to_numpy(dtype=np.float64)
    if how is None:
        return float(test[OUTCOME].mean()), np.nan, np.nan
    found = _bootstrap(by_user.T, lambda sums: ratio(sums[:1], sums[1:]), how.resampler(len(by_user)))
    return float(found.value[0]), float(found.low[0]), float(found.high[0])


def _bootstrap(
    by_user: Floats, of_sums: Callable[[Floats], Floats], resampler: Resampler
) -> Estimate[Floats]:
    """Resample users; of very many, random ones stand together, which leaves the spread of sums as it is."""
    if (n := resampler.n_clusters) > _MOST:
        block = np.random.default_rng([resampler.seed, 16]).permutation(n) % _MOST
        by_user = np.stack([np.bincount(block, values, _MOST) for values in by_user])
        resampler = resampler.of(_MOST)
    return bootstrap(ClusterSums(by_user, of_sums), resampler)


def gap_sentence(frame: pd.DataFrame) -> str:
    """Say how much of the gap between the log and the random sample is closed; "" without a sample."""
    of = frame.set_index("mean")
    if RANDOM not in of.index or of["closed"].isna().all():
        return ""
    shares = {name: float(of["closed"][name]) for name in (IPS, SNIPS)}
    told = " and ".join(f"{name.upper()} {100 * share:.0f} %" for name, share in shares.items())
    if all(0 < share < 1 for share in shares.values()):
        verdict = "propensities close part of the gap only"
    elif all(share <= 0 for share in shares.values()):
        verdict = "propensities do not close the gap"
    else:
        verdict = "propensities do not close the gap reliably"
    return (
        f"The mean outcome of the log is {of['value'][NAIVE]:.3f}, that of the random sample "
        f"{of['value'][RANDOM]:.3f}. Of this gap {told} is closed: {verdict}."
    )
