"""How much a map from scores to people's scale mends an evaluator's error, on users that it did not see."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from metaeval.base.progress import progress
from metaeval.stats.agreement.raters import mean_absolute_error
from metaeval.stats.coefficients.grouped import pearson
from metaeval.stats.regression.isotonic import cross_fitted, isotonic
from metaeval.stats.resampling.bootstrap import NOTHING, bootstrap, each
from metaeval.stats.resampling.cluster_sums import ClusterSums
from metaeval.stats.resampling.threads import one_thread
from metaeval.stats.weighted.sums import Clusters

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from metaeval.base.records import Scale
    from metaeval.engine.intervals import Bootstrap
    from metaeval.engine.policy import Prepared
    from metaeval.stats.coefficients.tables import Floats, Ints
    from metaeval.stats.regression.isotonic import Isotonic
    from metaeval.stats.resampling.bootstrap import Estimate, Resampler

RAW, MEAN, MAP, OWN_MEAN, OWN_MAP = "raw", "mean", "map", "own_mean", "own_map"


@dataclass(frozen=True, slots=True, eq=False)
class MapFit:
    """Maps of one evaluator and aspect; errors are in points of people's scale, out of sample.

    By way of predicting: ``raw``, the score as it is, if scores lie on the scale; ``mean``, the mean rating
    of other users, without a score; ``map``, the isotonic map of other users; and with the user's own labels
    of other items ``own_mean``, the mean and the user's shift, and ``own_map``, the map and the user's shift
    and slope.
    """

    evaluator: str
    aspect: str
    n_units: int
    n_clusters: int
    map: Isotonic
    """Fitted on all units: the one to use."""
    mae: Mapping[str, float]
    rmse: Mapping[str, float]
    pearson: Mapping[str, float]
    """Of what was predicted and people's rating; NaN for a constant."""
    mended: Estimate[float]
    """How much smaller the root mean squared error of ``map`` is than that of ``raw``."""
    added: Estimate[float]
    """The same of ``map`` against ``mean``: what the evaluator says of users that it has no labels of."""
    added_to_own: Estimate[float]
    """The same of ``own_map`` against ``own_mean``."""


@one_thread()
def map_fits(
    data: Prepared, *, scale: Scale, bootstrap: Bootstrap, cluster: str | None = None
) -> list[MapFit]:
    """Fit and cross-fit maps for every evaluator and aspect.

    Parameters
    ----------
    data
        Scores and truth, what is missing dropped, units an evaluator's own.
    scale
        Of the truth.
    bootstrap
        Of the intervals, and the seed of the folds.
    cluster
        What folds are made of, as `Prepared.clusters` takes it; what the first key names, if None.

    Returns
    -------
    list of MapFit
        By evaluator and aspect, without those that have units of fewer than two users.
    """
    who = data.clusters(data.cluster_name(cluster)).of_unit
    # What is left out together of a user's own units: those of one item.
    block = list(data.keys.values())[1].astype(np.int64) if data.has_users and len(data.keys) > 1 else None
    resampler = bootstrap.resampler()
    found = []
    with progress("maps", len(data.evaluators)) as advance:
        for e, evaluator in enumerate(data.evaluators):
            for a, aspect in enumerate(data.aspects):
                units = np.arange(data.truth.shape[1])[data.units(e, a)]
                _, of_unit = np.unique(who[units], return_inverse=True)
                clusters = Clusters(of_unit, int(of_unit.max(initial=-1)) + 1)
                if clusters.n < 2:
                    continue
                x, y = data.scores[e, a, units], data.truth[a, units]
                own = None if block is None else block[units]
                said = _said(x, y, clusters, block=own, scale=scale, seed=bootstrap.seed)
                found.append(_fit((evaluator, aspect), x, y, clusters, said=said, resampler=resampler))
            advance()
    return found


def _said(
    x: Floats, y: Floats, clusters: Clusters, *, block: Ints | None, scale: Scale, seed: int
) -> dict[str, Floats]:
    """Return what each way of predicting says of each unit."""
    fitted = cross_fitted(x, y, clusters, block=block, bounds=(scale.min, scale.max), seed=seed)
    said = {MEAN: fitted.mean, MAP: fitted.common}
    if x.min() >= scale.min and x.max() <= scale.max:
        said[RAW] = x
    if block is not None:
        said |= {OWN_MEAN: fitted.own_mean, OWN_MAP: fitted.own}
    return said


def _fit(
    of: tuple[str, str],
    x: Floats,
    y: Floats,
    clusters: Clusters,
    *,
    said: Mapping[str, Floats],
    resampler: Resampler,
) -> MapFit:
    errors = {name: np.abs(values - y) for name, values in said.items()}
    pairs = [(RAW, MAP), (MEAN, MAP), (OWN_MEAN, OWN_MAP)]
    there = [p for p in pairs if p[0] in errors and p[1] in errors]
    gains = bootstrap(_gains(errors, there, clusters), resampler.of(clusters.n), stretch=False)
    by_pair = dict(zip(there, each(gains), strict=True))
    mended, added, added_to_own = (by_pair.get(p, NOTHING) for p in pairs)
    return MapFit(
        *of,
        len(x),
        clusters.n,
        isotonic(x, y),
        {name: mean_absolute_error(values, y) for name, values in said.items()},
        {name: float(np.sqrt(np.square(e).mean())) for name, e in errors.items()},
        # Means of folds differ a little, and fall where their fold is high: no coefficient of that is told.
        {name: np.nan if name == MEAN else float(pearson(values, y)) for name, values in said.items()},
        mended,
        added,
        added_to_own,
    )


def _gains(errors: Mapping[str, Floats], pairs: Sequence[tuple[str, str]], clusters: Clusters) -> ClusterSums:
    """Return by how much root mean squared errors are smaller in the second of each pair."""
    names = [one for one, _ in pairs] + [other for _, other in pairs]
    squares = [np.bincount(clusters.of_unit, np.square(errors[n]), clusters.n) for n in names]
    units = np.bincount(clusters.of_unit, minlength=clusters.n)

    def less(sums: Floats) -> Floats:
        first, second = np.split(np.sqrt(sums[:-1] / sums[-1]), 2)
        return np.asarray(first - second)

    return ClusterSums(np.stack([*squares, units]), less)
