"""Generators ranked by ratings and by each evaluator, from the same resamples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from metaeval.analysis.generator_estimates import GeneratorDesign, MeanDraws, p_better
from metaeval.base.counts import counted
from metaeval.base.errors import MetaevalError
from metaeval.base.progress import progress
from metaeval.base.records import AVERAGE
from metaeval.engine.alignment.prepared import Prepared
from metaeval.engine.intervals import Bootstrap
from metaeval.stats.coefficients.grouped import kendall
from metaeval.stats.coefficients.tables import Floats, Ints, squarable
from metaeval.stats.ranking.orders import soft_pairwise_accuracy, weighted_kendall
from metaeval.stats.regression.true_means import (
    NoInterval,
    NoisyMeans,
    Normals,
    TrueMeans,
    draw,
    interval_of_draws,
)
from metaeval.stats.regression.variance import top_agreement
from metaeval.stats.resampling.rank_ranges import ranges_of
from metaeval.stats.resampling.significance import freedom, holm
from metaeval.stats.resampling.weights import (
    EQUAL,
    in_threads,
    one_thread,
    percentile_interval,
    variance_of_defined,
)


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
    truth: MeanDraws, score: MeanDraws, p_truth: Floats, p_score: Floats, options: Bootstrap
) -> list[RankAgreement]:
    """Compare the means by one evaluator with those by the ratings, aspect by aspect.

    Means and their replicates are from the same resamples; p-values, shape (aspects, G, G), are one-sided:
    that the row's mean is above the column's.
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


def _noisy(truth: MeanDraws, score: MeanDraws, aspect: int, there: Ints) -> NoisyMeans:
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
        z[np.isnan(z)] = 0.0
        apart += sign * ndtr(z)
    return np.broadcast_to(1 - np.abs(apart).mean(axis=0), (n,))


@dataclass(frozen=True, slots=True, eq=False)
class Ranking:
    """Generators by one source of values; arrays are (aspects, G)."""

    mean: Floats
    """Adjusted mean, on the scale of the source; NaN where the generator has no unit."""
    low: Floats
    high: Floats
    rank_low: Floats
    """1 + the number that is shown better; NaN where there is no mean."""
    rank_high: Floats
    """The number of generators less those that are shown worse; all ranges hold at once."""
    n_units: Ints
    n_clusters: Ints
    """Resampled users (or items) that have a unit of the generator."""
    p_better: Floats
    """Shape (aspects, G, G): one-sided p-values, not corrected, that the row's mean is above the column's."""


@dataclass(frozen=True, slots=True, eq=False)
class ComparedRanking:
    """One evaluator beside the ratings of the units that it scored."""

    evaluator: str
    ranking: Ranking
    ratings: Ranking
    agreement: list[RankAgreement]
    """One per aspect."""


@dataclass(frozen=True, slots=True, eq=False)
class GeneratorRankings:
    """Result of `rank_generators`."""

    generators: tuple[str, ...]
    aspects: tuple[str, ...]
    """The mean over aspects (`AVERAGE`) first, if there are several."""
    ratings: Ranking
    """Of the units that any of the evaluators scored."""
    evaluators: tuple[ComparedRanking, ...]
    bootstrap: Bootstrap
    n_clusters: int
    alpha: float


@one_thread()
def rank_generators(
    data: Prepared,
    *,
    aspects: Sequence[str] | None = None,
    bootstrap: Bootstrap | None = None,
    alpha: float = 0.05,
) -> GeneratorRankings:
    """Rank generators by means without the effects of users (`metaeval.stats.regression.variance`).

    Every mean is recomputed in the same bootstrap resamples of users. Whether a generator is worse than
    another is tested by Student's t with the bootstrap standard error, Holm-corrected over all ordered pairs,
    because the direction comes from the same data. Without users nothing is removed, and items are resampled.

    Parameters
    ----------
    aspects
        Those to rank by; all if None.
    bootstrap
        Resamples, confidence and seed; its cluster and method have no effect. Intervals are percentiles.
    alpha
        Level of the rank ranges.

    Raises
    ------
    MetaevalError
        If there are fewer than two generators, or an aspect is unknown.
    """
    n = len(data.systems)
    if n < 2:
        raise MetaevalError(
            f"the rated units name {counted(n, 'generator')}, and a ranking needs two or more; use a run "
            "on a data set that has them"
        )
    chosen = data.places(aspects)
    options = bootstrap or Bootstrap()
    by_evaluator = [list(of_evaluator[chosen]) for of_evaluator in data.entering]
    entering = [np.logical_or.reduce(masks) for masks in zip(*by_evaluator, strict=True)]
    design = GeneratorDesign.of(data, np.logical_or.reduce(entering), options)
    confidence = design.resampler.level

    with progress("generators", len(data.evaluators) + 1) as advance:
        truth = data.truth[chosen]
        everywhere = design.draws(truth, entering)
        ratings = _ranking(everywhere, confidence, alpha)
        advance()

        def beside(e: int) -> ComparedRanking:
            masks = by_evaluator[e]
            same = all(np.array_equal(m, n) for m, n in zip(masks, entering, strict=True))
            own_truth = everywhere if same else design.draws(truth, masks)
            own = design.draws(data.scores[e, chosen], masks)
            of_ratings = ratings if same else _ranking(own_truth, confidence, alpha)
            of_scores = _ranking(own, confidence, alpha)
            agreement = agreement_of(own_truth, own, of_ratings.p_better, of_scores.p_better, options)
            return ComparedRanking(data.evaluators[e], of_scores, of_ratings, agreement)

        compared = []
        for ranked in in_threads(beside, range(len(by_evaluator))):
            compared.append(ranked)
            advance()
    names = [data.aspects[a] for a in chosen]
    return GeneratorRankings(
        data.systems,
        tuple([AVERAGE, *names] if len(names) > 1 else names),
        ratings,
        tuple(compared),
        options.by(data.cluster_name()),
        design.clusters.n,
        alpha,
    )


def _ranking(draws: MeanDraws, confidence: float, alpha: float) -> Ranking:
    few = 0.0 * freedom(draws.n_clusters)
    low, high = (end + few for end in percentile_interval(draws.replicates, confidence))
    p = np.stack([_p_better(m, r) for m, r in zip(draws.mean, draws.replicates, strict=True)])
    ranges = [
        ranges_of(holm(_p_worse(m, r, n)) <= alpha, ~np.isnan(m))
        for m, r, n in zip(draws.mean, draws.replicates, draws.n_clusters, strict=True)
    ]
    best, worst = (np.stack(ends) for ends in zip(*ranges, strict=True))
    return Ranking(draws.mean, low, high, best, worst, draws.n_units, draws.n_clusters, p)


def _p_better(mean: Floats, replicates: Floats) -> Floats:
    """Return p-values that the row's generator has the higher mean; NaN without a mean."""
    p = np.where(np.isnan(mean[:, None] + mean), np.nan, p_better(replicates))
    np.fill_diagonal(p, np.nan)
    return p


def _p_worse(mean: Floats, replicates: Floats, n_clusters: Ints) -> Floats:
    """Return p-values that the column's generator is worse than the row's, by Student's t.

    Only the standard errors come from resamples, whose tails are too thin for few clusters and too coarse for
    many pairs. Where no resample differs, all n clusters agree: by chance this has probability 2^-n.
    """
    from scipy.special import stdtr

    scaled = squarable(np.column_stack([mean, replicates]))
    mean, replicates = scaled[:, 0], scaled[:, 1:]
    p = np.full((mean.size, mean.size), np.nan)
    for g in range(mean.size):
        apart = replicates[g] - replicates
        n = np.minimum(n_clusters[g], n_clusters).astype(np.float64)
        error = np.sqrt(variance_of_defined(apart) * n / np.maximum(1, n - 1))
        difference = mean[g] - mean
        with np.errstate(divide="ignore", invalid="ignore"):
            by_t = stdtr(freedom(n), -difference / error)
        alike = np.where(difference > 0, 2.0**-n, 1.0)
        p[g] = np.where(error > EQUAL * (1 + np.abs(mean[g])), by_t, alike)
        p[g, np.isnan(difference) | (n < 2)] = np.nan
    np.fill_diagonal(p, np.nan)
    return p
