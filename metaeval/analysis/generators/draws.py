"""Means of generators with the effects of users removed, and their bootstrap replicates, by aspect."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from metaeval.base.errors import DataError
from metaeval.engine.alignment.aligned import Bools
from metaeval.engine.alignment.prepared import Prepared
from metaeval.engine.intervals import Bootstrap
from metaeval.stats.coefficients.tables import Floats, Ints
from metaeval.stats.regression.effects import UserAdjusted
from metaeval.stats.resampling.bootstrap import Resampler
from metaeval.stats.resampling.cluster_sums import with_average
from metaeval.stats.resampling.weights import permutation_p
from metaeval.stats.weighted.sums import Clusters

_DIGITS = 12  # significant digits of the largest mean; later ones are rounding errors, and break ties
_FARTHEST = 300  # powers of ten, positive and negative, that a float can hold


@dataclass(frozen=True, slots=True, eq=False)
class Draws:
    """Means of generators and their bootstrap replicates, rounded so that equal means tie."""

    mean: Floats
    """Shape (aspects, G)."""
    replicates: Floats
    """Shape (aspects, G, resamples)."""
    n_units: Ints
    n_clusters: Ints


@dataclass(frozen=True, slots=True, eq=False)
class GeneratorDesign:
    """The generator of each unit, the users whose effects are removed, and the resampled clusters."""

    generator: Ints
    n_generators: int
    users: bool
    """Whether the clusters are users, whose effects are removed."""
    clusters: Clusters
    """Those that have a unit that enters."""
    resampler: Resampler

    @classmethod
    def of(cls, data: Prepared, entering: Bools, options: Bootstrap) -> GeneratorDesign:
        """Prepare resamples of the users (without users, items) that have a unit that enters."""
        system = data.system
        if system is None:
            raise DataError("no key names what wrote a unit, such as its generator")
        generator = data.keys[system].astype(np.int64)
        clusters = data.clusters(data.cluster_name()).among(entering)
        n = len(data.labels[system])
        return cls(generator, n, data.has_users, clusters, options.resampler(clusters.n))

    def draws(self, values: Floats, entering: Sequence[Bools]) -> Draws:
        """Compute means and replicates from the units that enter; the mean over aspects is put first.

        Values are finite, shape (aspects, U); ``entering`` has a mask of shape (U,) per aspect.
        """
        shape = (len(values), self.n_generators)
        mean, replicates = np.empty(shape), np.empty((*shape, self.resampler.resamples))
        masks, mask_of = np.unique(np.stack(entering), axis=0, return_inverse=True)
        for m, units in enumerate(masks):  # most often the same for all aspects
            rows = np.flatnonzero(mask_of == m)
            clusters = self.clusters.take(units)
            sums = UserAdjusted.of(
                values[np.ix_(rows, units)],
                self.generator[units],
                self.n_generators,
                clusters,
                users=self.users,
            )
            mean[rows] = sums.at(np.ones((clusters.n, 1))).reshape(len(rows), -1)
            replicates[rows] = self.resampler.replicates(sums).reshape(len(rows), self.n_generators, -1)
        used = list(entering)
        if len(values) > 1:
            mean, replicates = (np.roll(with_average(v), 1, axis=0) for v in (mean, replicates))
            used = [np.logical_or.reduce(entering), *entering]
        scale = np.nanmax(np.abs(mean), initial=0.0, axis=1)
        mean = _rounded(mean, scale[:, None])
        replicates = _rounded(replicates, scale[:, None, None])
        shape = (self.clusters.n, self.n_generators)
        cells = self.clusters.of_unit * self.n_generators + self.generator
        counts = np.stack([np.bincount(cells[u], minlength=math.prod(shape)).reshape(shape) for u in used])
        return Draws(mean, replicates, counts.sum(axis=1), (counts > 0).sum(axis=1))


def p_better(replicates: Floats) -> Floats:
    """Return one-sided p-values that the row's generator has the higher mean, shape (G, G).

    Resamples in which the row is not above the column, or either is undefined, count against it.
    """
    none = np.zeros(len(replicates))
    return np.stack([permutation_p(none, replicates - own, greater=True) for own in replicates])


def _rounded(x: Floats, scale: Floats) -> Floats:
    """Round to `_DIGITS` decimal digits of ``scale``, so that 17/8 prints as 2.125."""
    places = _DIGITS - 1 - np.floor(np.log10(np.where(scale > 0, scale, 1.0)))
    places = np.clip(places, -_FARTHEST, _FARTHEST)
    # Multiplying by a power of ten is precise enough, multiplying by its inverse is not.
    up, down = 10.0 ** np.maximum(places, 0), 10.0 ** np.maximum(-places, 0)
    found: Floats = np.rint(x / down * up) / up * down
    return found
