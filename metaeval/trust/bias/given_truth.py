"""The effect of a column on a judge's score with the truth held fixed: behind verbosity and self-preference.

Ratings measure quality with noise, so whatever correlates with quality, such as length, takes over a part of
its effect (errors in variables; Fuller 1987, *Measurement Error Models*, ch. 1). If further people rated the
same units, their mean rating is an instrument for the truth (two-stage least squares).

The regressions need a small matrix of cross-products per cluster. A resample is a weighted sum of these
matrices and a small system of equations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from metaeval.stats.coefficients.tables import Floats, Ints
from metaeval.stats.resampling.bootstrap import Resampler
from metaeval.stats.resampling.cluster_sums import Stack
from metaeval.trust.bias.bias import Biases, JudgedUnits, Measured, measured

_SINGULAR = 1e-9  # determinant of a correlation matrix below which its columns are collinear
_CONSTANT = 1e-12  # share of a column's spread that rounding may leave
_STRONG = 10  # F of an instrument that may be used
_NORMAL = 1.96  # half the width of a 95 % interval in standard errors


@dataclass(frozen=True, slots=True, eq=False)
class Within:
    """The coefficient of the first of p columns, from cross-products with p instruments by cluster."""

    cross: Floats
    """Shape (n_clusters, p, p + 1), the response last, everything in units of its spread."""
    spread: Floats
    """Shape (p + 1,): of the columns and the response, 0 for one that is constant within the groups."""

    @classmethod
    def of(
        cls,
        response: Floats,
        columns: Floats,
        cluster: Ints,
        n_clusters: int,
        *,
        effects: Ints | None = None,
        instruments: Floats | None = None,
    ) -> Within:
        """Sum the cross-products of n units: a response, shape (n,), and columns, shape (p, n), all finite.

        ``effects`` are groups whose fixed effects are removed (within transformation), each inside one
        cluster; None for a regression through the origin. ``instruments``, shape (p, n), are of each column
        itself or another measurement of it; None for least squares.
        """
        right, spread = _scaled(np.concatenate([columns, response[None]]), effects)
        left = right[:-1] if instruments is None else _scaled(instruments, effects)[0]
        cross = np.stack(
            [[np.bincount(cluster, z * x, n_clusters) for x in right] for z in left],
        ).transpose(2, 0, 1)
        return cls(np.ascontiguousarray(cross, dtype=np.float64), spread)

    def at(self, weights: Floats) -> Floats:
        """Return the coefficient under each column of weights, shape (1, B).

        NaN where the column is collinear with others or with the effects. Other columns that are constant
        are left out.
        """
        n, p, _ = self.cross.shape
        total = (weights.T @ self.cross.reshape(n, -1)).reshape(-1, p, p + 1)
        count = np.maximum(np.abs(np.einsum("bii->bi", total[:, :, :-1])).max(axis=1, initial=0.0), 1e-300)
        total = total / count[:, None, None]
        system, right = total[:, :, :-1], total[:, :, -1]
        there = np.abs(np.einsum("bii->bi", system)) > _CONSTANT
        both = there[:, :, None] & there[:, None, :]
        system = np.where(both, system, np.eye(p))
        size = np.sqrt(np.abs(np.einsum("bii->bi", system)))
        system = system / (size[:, :, None] * size[:, None, :])
        told = np.abs(np.linalg.det(system)) > _SINGULAR
        system[~told] = np.eye(p)
        found = np.linalg.solve(system, np.where(there, right / size, 0.0)[:, :, None])[:, :, 0] / size
        known = told & there[:, 0] & (self.spread[0] > 0)
        unit = self.spread[-1] / (self.spread[0] or 1.0)
        return np.where(known, found[:, 0] * unit, np.nan)[None]

    def contributions(self) -> Floats:
        """Return what each cluster contributes to the coefficient, shape (n_clusters,).

        That is the column's residual given the others, times the residual of the regression without it,
        scaled to sum to the coefficient (Frisch, Waugh & Lovell). NaN if the coefficient is.
        """
        n, p, _ = self.cross.shape
        if np.isnan(self.at(np.ones((n, 1))))[0, 0]:
            return np.full(n, np.nan)
        total = self.cross.sum(axis=0)
        present = [i for i in range(p) if abs(total[i, i]) > _CONSTANT * np.abs(np.diagonal(total)).max()]
        others = [i for i in present if i != 0]
        freed, residual = np.zeros(p), np.zeros(p + 1)
        freed[present] = np.linalg.inv(total[np.ix_(present, present)])[0]
        residual[-1] = 1.0
        if others:
            residual[others] = -np.linalg.solve(total[np.ix_(others, others)], total[others, -1])
        unit = self.spread[-1] / self.spread[0]
        return np.asarray(np.einsum("i,cij,j->c", freed, self.cross, residual) * unit)


def _scaled(table: Floats, effects: Ints | None) -> tuple[Floats, Floats]:
    """Remove the fixed effects and divide by the remaining spread; zeros where there is none."""
    table = np.asarray(table, dtype=np.float64)
    if not table.shape[1]:
        return table, np.zeros(len(table))
    before = np.sqrt(np.square(table).mean(axis=1))
    if effects is not None:
        counts = np.maximum(np.bincount(effects), 1)
        table = table - np.stack([np.bincount(effects, row) / counts for row in table])[:, effects]
    spread = np.sqrt(np.square(table).mean(axis=1))
    spread = np.where(spread > _CONSTANT * before, spread, 0.0)
    there = spread > 0
    return np.where(there[:, None], table / np.where(there, spread, 1.0)[:, None], 0.0), spread


@dataclass(frozen=True, slots=True, eq=False)
class GivenTruth:
    """A coefficient with the truth held fixed."""

    best: Measured
    """Tested; from the instrument, if there is a strong one."""
    plain: Measured | None
    """With the ratings held fixed as they are; None if that is ``best``."""
    weak: bool = False
    """Whether there is an instrument, but a weak one."""

    @property
    def instrument(self) -> bool:
        """Whether ``best`` is free of the noise of the ratings."""
        return self.plain is not None


def given_truth(
    data: JudgedUnits, response: Floats, columns: Sequence[Floats], resampler: Resampler
) -> GivenTruth:
    """Return the coefficient of the first column in response ~ columns + truth + cluster.

    The response has shape (A, U) and each column (U,); NaN is a missing value.
    """
    plain = fits(data, response, [*columns, data.truth])
    second = data.second
    weak = second is not None and _is_weak(data, response, [second, *columns], resampler)
    if second is None or weak:
        return GivenTruth(coefficient(plain, resampler), None, weak)
    best = fits(data, response, [*columns, data.truth], [*columns, second])
    return GivenTruth(coefficient(best, resampler), coefficient(plain, resampler, tested=False))


def coefficient(of_aspects: Sequence[Within], resampler: Resampler, *, tested: bool = True) -> Measured:
    """Return the coefficient of the first column in the regression of each aspect, and their mean."""
    contributions = np.stack([r.contributions() for r in of_aspects]) if tested else None
    return measured(Stack(of_aspects), resampler, contributions)


def fits(
    data: JudgedUnits,
    response: Floats,
    columns: Sequence[Floats],
    instruments: Sequence[Floats] | None = None,
) -> list[Within]:
    """Prepare the regression response ~ columns + cluster of each aspect, on its complete units.

    The response has shape (A, U), columns and instruments (`Within.of`) (U,) or (A, U).
    """
    found = []
    for a, y in enumerate(response):
        table, left = (
            np.stack([x if x.ndim == 1 else x[a] for x in xs]) for xs in (columns, instruments or columns)
        )
        use = ~np.isnan(y + table.sum(axis=0) + left.sum(axis=0))
        who = data.cluster[use]
        other = None if instruments is None else left[:, use]
        found.append(Within.of(y[use], table[:, use], who, data.n_clusters, effects=who, instruments=other))
    return found


def _is_weak(data: JudgedUnits, response: Floats, columns: Sequence[Floats], resampler: Resampler) -> bool:
    """Say whether, in any aspect, the instrument is too weak.

    That is F below 10 for its coefficient in truth ~ instrument + columns + cluster (Staiger & Stock 1997,
    Econometrica 65, 557), the standard error taken from the bootstrap interval.
    """
    scored = np.where(np.isnan(response), np.nan, data.truth)
    found = coefficient(fits(data, scored, columns), resampler, tested=False)
    n = len(data.aspects)
    error = (found.high[:n] - found.low[:n]) / (2 * _NORMAL)
    return not bool((np.square(found.value[:n]) >= _STRONG * np.square(error)).all())


def given_truth_note(found: Biases) -> str:
    """Say how the truth was held fixed, and what that leaves open."""
    measured = [r.doubling for r in found.results["verbosity"]]
    measured += [r.points for r in found.results["self_preference"]]
    if any(m.instrument for m in measured):
        return (
            "The truth is held fixed, corrected for the noise of the ratings: the mean rating of other "
            "people who rated the same units is the instrument (two-stage least squares)."
        )
    weak = (
        "Other people's ratings of the same units are too weak an instrument to correct the truth for noise "
        "(F < 10). "
        if any(m.weak for m in measured)
        else ""
    )
    return (
        f"{weak}The truth is held fixed as it was rated. Ratings are noisy: if length or family predicts "
        "quality beyond the rating, this counts as bias here. Only ratings of further people could separate "
        "the two."
    )
