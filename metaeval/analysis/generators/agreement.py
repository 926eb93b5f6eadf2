"""Agreement between the rankings of generators by an evaluator and by the ratings."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from metaeval.stats.coefficients.grouped import kendall
from metaeval.stats.ranking.orders import soft_pairwise_accuracy, weighted_kendall
from metaeval.stats.regression.effects import top_agreement
from metaeval.stats.regression.noisy_means import NoisyMeans
from metaeval.stats.regression.true_means import Normals, draw, interval_of_draws

if TYPE_CHECKING:
    from metaeval.analysis.generators.draws import Draws
    from metaeval.engine.intervals import Bootstrap
    from metaeval.stats.coefficients.tables import Floats, Ints
    from metaeval.stats.regression.noisy_means import NoInterval
    from metaeval.stats.regression.true_means import TrueMeans


class RankAgreement(NamedTuple):
    """How the ranking of generators by an evaluator agrees with that by the ratings, for one aspect."""

    tau: float
    """Kendall's τ-b of the means."""
    tau_corrected: float
    """Of the means that very many users would give (`stats.regression.true_means`), with its interval."""
    tau_ci_low: float
    tau_ci_high: float
    weighted_tau: float
    soft_pairwise_accuracy: float
    soft_corrected: float
    """With the p-values that the true means would have at this study's standard errors; with its interval."""
    soft_ci_low: float
    soft_ci_high: float
    no_interval: NoInterval | None
    """Why there is no interval, if there is none."""
    same_top: bool
    """Whether both have the same generator on top."""
    top_agreement: float
    """Share of the resamples in which they have."""


def agreement_of(
    truth: Draws, score: Draws, p_truth: Floats, p_score: Floats, options: Bootstrap
) -> list[RankAgreement]:
    """Compare the means by one evaluator with those by the ratings, aspect by aspect.

    Parameters
    ----------
    truth, score
        Means and their replicates, from the same resamples.
    p_truth, p_score
        Shape (aspects, G, G): one-sided p-values that the row's mean is above the column's.
    options
        Number of draws, confidence and seed.
    """
    normals = Normals.of(1, truth.mean.shape[1], options.resamples, options.seed)
    found = []
    for a, (x, y) in enumerate(zip(truth.mean, score.mean, strict=True)):
        there = np.flatnonzero(~np.isnan(x + y))
        noisy = _noisy(truth, score, a, there)
        true = draw([noisy], normals)[0]
        drawn = [true.coefficients(("kendall",), normals.n)[0], _soft_draws(true, noisy, normals.n)]
        low, corrected, high = interval_of_draws(np.array(drawn), options.confidence)
        among = np.ix_(there, there)
        found.append(
            RankAgreement(
                tau=kendall(x[there], y[there]),
                tau_corrected=corrected[0],
                tau_ci_low=low[0],
                tau_ci_high=high[0],
                weighted_tau=weighted_kendall(x, y),
                soft_pairwise_accuracy=soft_pairwise_accuracy(p_truth[a][among], p_score[a][among]),
                soft_corrected=corrected[1],
                soft_ci_low=low[1],
                soft_ci_high=high[1],
                no_interval=true.reason,
                same_top=top_agreement(x[None], y[None]) == 1,
                top_agreement=top_agreement(truth.replicates[a].T, score.replicates[a].T),
            )
        )
    return found


def _noisy(truth: Draws, score: Draws, aspect: int, there: Ints) -> NoisyMeans:
    """Return the means of scores and of ratings, with errors from the resamples."""
    replicates = np.stack([d.replicates[aspect, there] for d in (score, truth)])
    known = replicates[:, :, ~np.isnan(replicates).any(axis=(0, 1))]
    # The bootstrap variance of n clusters is too small by (n - 1) / n.
    n, k = float(truth.n_clusters[aspect, there].mean()) if there.size else 0.0, known.shape[2]
    by = np.sqrt(n / max(1.0, n - 1) / max(1, k))
    errors = (known - known.mean(axis=2, keepdims=True)) * by if k else known
    means = np.stack([d.mean[aspect, there] for d in (score, truth)])
    return NoisyMeans.of_errors(means, errors, n if k else 0.0)


def _soft_draws(true: TrueMeans, noisy: NoisyMeans, n: int) -> Floats:
    """Return the soft pairwise accuracy of drawn true means, at the standard errors of the study."""
    from scipy.special import ndtr

    if true.reason is not None:
        return np.full(n, np.nan)
    first, second = np.triu_indices(len(true.x), 1)
    apart = np.zeros((len(first), true.x.shape[1]))
    for values, errors, sign in ((true.x, noisy.errors[0], 1), (true.y, noisy.errors[1], -1)):
        error = np.sqrt(((errors[first] - errors[second]) ** 2).sum(axis=1))[:, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            z = (values[first] - values[second]) / error
        apart += sign * ndtr(np.nan_to_num(z))
    return np.broadcast_to(1 - np.abs(apart).mean(axis=0), (n,))
