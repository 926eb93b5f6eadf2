"""Generators ranked by ratings and by each evaluator, from the same resamples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from metaeval.analysis.generators.agreement import agreement_of
from metaeval.analysis.generators.draws import GeneratorDesign, p_better
from metaeval.base.counts import counted
from metaeval.base.errors import MetaevalError
from metaeval.base.progress import progress
from metaeval.base.records import AVERAGE
from metaeval.engine.intervals import Bootstrap
from metaeval.stats.coefficients.exact import squarable
from metaeval.stats.ranking.orders import rank_clusters
from metaeval.stats.resampling.multiplicity import holm
from metaeval.stats.resampling.threads import one_thread
from metaeval.stats.resampling.weights import EQUAL, percentile_interval, variance_of_defined

if TYPE_CHECKING:
    from collections.abc import Sequence

    from metaeval.analysis.generators.agreement import RankAgreement
    from metaeval.analysis.generators.draws import Draws
    from metaeval.engine.alignment.policy import Prepared
    from metaeval.stats.coefficients.tables import Floats, Ints


@dataclass(frozen=True, slots=True, eq=False)
class Ranking:
    """Generators by one source of values; arrays are (aspects, G)."""

    mean: Floats
    """Adjusted mean, on the scale of the source; NaN where the generator has no unit."""
    low: Floats
    high: Floats
    cluster: Ints
    """1 is the best; 0 where there is no mean."""
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
    """Rank generators by their means with the effects of users removed (`metaeval.stats.regression.effects`).

    Every mean is recomputed in the same bootstrap resamples of users. Whether a generator is worse than
    another is tested by Student's t with the bootstrap standard error, Holm-corrected over all ordered pairs,
    because the direction comes from the same data.

    Parameters
    ----------
    data
        Scores and truth as the run's policy leaves them. Without users nothing is removed, and items are
        resampled.
    aspects
        Those to rank by; all if None.
    bootstrap
        Resamples, confidence and seed; its cluster and method have no effect. Intervals are percentiles.
    alpha
        Level of the rank clusters.

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
        compared = []
        for e, masks in enumerate(by_evaluator):
            same = all(np.array_equal(m, n) for m, n in zip(masks, entering, strict=True))
            beside = everywhere if same else design.draws(truth, masks)
            own = design.draws(data.scores[e, chosen], masks)
            of_ratings = ratings if same else _ranking(beside, confidence, alpha)
            of_scores = _ranking(own, confidence, alpha)
            agreement = agreement_of(beside, own, of_ratings.p_better, of_scores.p_better, options)
            compared.append(ComparedRanking(data.evaluators[e], of_scores, of_ratings, agreement))
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


def _ranking(draws: Draws, confidence: float, alpha: float) -> Ranking:
    low, high = percentile_interval(draws.replicates, confidence)
    p = np.stack([_p_better(m, r) for m, r in zip(draws.mean, draws.replicates, strict=True)])
    cluster = np.stack(
        [
            rank_clusters(m, holm(_p_worse(m, r, n)), alpha)
            for m, r, n in zip(draws.mean, draws.replicates, draws.n_clusters, strict=True)
        ]
    )
    return Ranking(draws.mean, low, high, cluster, draws.n_units, draws.n_clusters, p)


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
            by_t = stdtr(np.maximum(1, n - 1), -difference / error)
        alike = np.where(difference > 0, 2.0**-n, 1.0)
        p[g] = np.where(error > EQUAL * (1 + np.abs(mean[g])), by_t, alike)
        p[g, np.isnan(difference) | (n < 2)] = np.nan
    np.fill_diagonal(p, np.nan)
    return p
