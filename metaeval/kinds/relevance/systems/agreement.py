"""Agreement on the order of systems when an evaluator's labels replace those of the truth."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd

from metaeval.stats.ranking.orders import weighted_kendall
from metaeval.stats.ranking.taus import TauOfMeans, tau_ap, top_tau
from metaeval.stats.regression.noisy_means import NoisyMeans
from metaeval.stats.regression.true_means import Normals, draw, interval_of_draws
from metaeval.stats.resampling.cluster_sums import ClusterSums, ratio
from metaeval.stats.resampling.multiplicity import holm
from metaeval.stats.resampling.paired import paired_test
from metaeval.stats.resampling.threads import in_threads, one_thread

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from metaeval.kinds.relevance.systems.effectiveness import Effectiveness
    from metaeval.stats.coefficients.tables import Floats
    from metaeval.stats.resampling.bootstrap import Resampler

TOP = 10
"""τ among the top is that of so many systems, the best by the truth."""


class MeasurePair(NamedTuple):
    """What is compared: a measure by an evaluator's labels with one by the truth's."""

    judge: str
    truth: str


def means_of(found: Effectiveness, measure: str) -> Floats:
    """Return the mean over users of each system, shape (systems,)."""
    return found.means(measure).at(np.ones((len(found.users), 1)))[:, 0]


@one_thread()
def system_agreement(
    found: Mapping[str, Effectiveness],
    truth: str,
    pairs: Sequence[MeasurePair],
    resampler: Resampler | None,
    *,
    top: int = TOP,
) -> pd.DataFrame:
    """Compare the order of the systems by each evaluator, and by the truth itself, with that by the truth.

    The interval is that of τ between the means that very many users would give, as noise in means lowers τ:
    see `metaeval.stats.regression.true_means`. So τ itself can lie outside.

    Parameters
    ----------
    found
        Evaluator → its values; the truth among them.
    resampler
        Users: number of draws, confidence and seed, and the swaps of the tests; without it there is neither.
    top
        How many systems are the top.

    Returns
    -------
    DataFrame
        ``evaluator``, ``measure``, ``truth_measure``, ``tau`` (τ-b), ``ci_low``, ``ci_high``,
        ``weighted_tau`` (hyperbolic weights; the mean over the ranks by both), ``tau_ap``, ``n_systems``,
        ``tau_corrected``, ``tau_top``, ``top``, ``n_users`` (labelled by both), ``no_interval`` (why there
        is none) and ``p_best`` (against the evaluator with the highest τ, Holm-corrected).
    """
    names = [truth, *(name for name in found if name != truth)]
    parts = []
    for pair in pairs:
        y = means_of(found[truth], pair.truth)

        def row(name: str, pair: MeasurePair = pair, y: Floats = y) -> dict[str, object]:
            own = found[name]
            x = means_of(own, pair.judge)
            tau = TauOfMeans.of(own.means(pair.judge), found[truth].means(pair.truth))
            interval = tau_interval(own, found[truth], pair, resampler)
            return {
                "evaluator": name,
                "measure": pair.judge,
                "truth_measure": pair.truth,
                "tau": tau.at(np.ones((len(own.users), 1))).item(),
                "ci_low": interval.low,
                "ci_high": interval.high,
                "weighted_tau": weighted_kendall(x, y),
                "tau_ap": tau_ap(x, y),
                "n_systems": len(x),
                "tau_corrected": interval.corrected,
                "tau_top": top_tau(x, y, top),
                "top": min(top, len(x)),
                "n_users": int((own.users & found[truth].users).sum()),
                "no_interval": interval.reason,
            }

        frame = pd.DataFrame(list(in_threads(row, names)))
        parts.append(frame.join(_tests(found, truth, pair, resampler), on="evaluator"))
    return pd.concat(parts, ignore_index=True)


class TauInterval(NamedTuple):
    """τ between the means that very many users would give."""

    low: float = np.nan
    corrected: float = np.nan
    high: float = np.nan
    reason: str = ""
    """Why there is none; a `NoInterval`."""


def tau_interval(
    judge: Effectiveness, truth: Effectiveness, pair: MeasurePair, resampler: Resampler | None
) -> TauInterval:
    """Return the interval of one evaluator's τ, from as many draws as there are to be resamples."""
    if resampler is None:
        return TauInterval()
    noisy = noisy_means(judge, truth, pair)
    normals = Normals.of(1, noisy.means.shape[1], resampler.resamples, resampler.seed)
    drawn = draw([noisy], normals)[0]
    if drawn.reason is not None:
        return TauInterval(reason=drawn.reason.value)
    taus = drawn.coefficients(["kendall"], normals.n)
    low, corrected, high = (float(v[0]) for v in interval_of_draws(taus, resampler.confidence))
    return TauInterval(low, corrected, high)


def noisy_means(judge: Effectiveness, truth: Effectiveness, pair: MeasurePair) -> NoisyMeans:
    """Return the means of the systems by both, with the errors that users bring to both."""
    means, errors = [], []
    for found, measure in ((judge, pair.judge), (truth, pair.truth)):
        n = int(found.users.sum())
        mean = means_of(found, measure)
        apart = np.where(found.users, found.of_user[measure] - mean[:, None], 0.0)
        means.append(mean)
        errors.append(apart / np.sqrt(max(1, n * (n - 1))))
    n_clusters = min(int(found.users.sum()) for found in (judge, truth))
    return NoisyMeans.of_errors(np.stack(means), np.stack(errors), n_clusters)


def _tests(
    found: Mapping[str, Effectiveness], truth: str, pair: MeasurePair, resampler: Resampler | None
) -> pd.Series[float]:
    """Test every evaluator against the one that keeps the order best: values are swapped user by user."""
    names = [name for name in found if name != truth]
    every = found[truth]
    statistics = [TauOfMeans.of(_standardized(found[n], pair.judge), every.means(pair.truth)) for n in names]
    taus = np.array([s.at(np.ones((len(every.users), 1))).item() for s in statistics])
    p = np.full(len(names), np.nan)
    if resampler is not None and not np.isnan(taus).all():
        best, swaps = int(np.nanargmax(taus)), resampler.of(len(every.users)).swaps
        others = [i for i in range(len(names)) if i != best]
        tested = in_threads(lambda i: paired_test([[statistics[best], statistics[i]]], swaps).p[0, 1], others)
        p[others] = holm(list(tested))
    return pd.Series(p, index=names, name="p_best")


def _standardized(found: Effectiveness, measure: str) -> ClusterSums:
    """Return the means in units of their spread, so that the values of two evaluators can be swapped."""
    spread = float(means_of(found, measure).std()) or 1.0
    counted: NDArray[np.float64] = found.users.astype(np.float64)
    sums = np.concatenate([found.of_user[measure] / spread * counted, counted[None]])
    return ClusterSums(sums, lambda s: ratio(s[:-1], s[-1:]))
