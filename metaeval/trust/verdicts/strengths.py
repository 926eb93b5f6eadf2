"""Generators ranked by verdicts on pairs: Bradley and Terry's model, Elo and win rate, with intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from metaeval.base.records import AVERAGE, FIRST, SECOND, TIE
from metaeval.evaluators.strengths import BRADLEY_TERRY, ELO, METHODS, WIN_RATE, elo_order
from metaeval.evaluators.verdicts import FLIP, OUTCOMES, points
from metaeval.stats.ranking import comparisons as numbers
from metaeval.stats.ranking.comparisons import Games
from metaeval.stats.resampling.bootstrap import Resampler, bootstrap
from metaeval.stats.resampling.cluster_sums import Stack, WithAverage
from metaeval.trust.verdicts.rates import clusters_of

if TYPE_CHECKING:
    import pandas as pd

    from metaeval.evaluators.verdicts import Flips
    from metaeval.stats.coefficients.tables import Floats, Ints

_FIRST, _SECOND, _TIE = (OUTCOMES.index(o) for o in (FIRST, SECOND, TIE))


@dataclass(frozen=True, slots=True, eq=False)
class Strengths:
    """How strong the generators are in the eyes of one evaluator, on one aspect."""

    aspect: str
    """An aspect, or ``average``: the mean over aspects."""
    generators: tuple[str, ...]
    estimate: Floats
    """Shape (methods, generators), the methods in the order of `METHODS`; NaN without a comparison."""
    low: Floats
    high: Floats
    counts: pd.DataFrame
    """A row a generator: ``pairs``, ``won``, ``lost``, ``ties``, ``flips``, ``failed``."""
    n_clusters: int


def rank_by_verdicts(
    comparisons: pd.DataFrame, *, flips: Flips = "tie", resamples: int = 1_000, seed: int = 0
) -> list[Strengths]:
    """Return the strengths of the generators in the eyes of one evaluator.

    A resample draws users (items, in data without users) with all their comparisons, on all aspects alike.

    Parameters
    ----------
    comparisons
        Of one evaluator, as `metaeval.evaluators.verdicts.comparisons_of` returns them.
    flips
        ``tie``: half a point for each side; ``drop``: not counted.
    resamples, seed
        Of the clusters; the seed is that of the order for Elo, too.

    Returns
    -------
    list of Strengths
        One an aspect; with several aspects, their average last.
    """
    cluster, n_clusters = clusters_of(comparisons)
    names = np.unique(comparisons[["first", "second"]].to_numpy(str))
    first, second = (np.searchsorted(names, comparisons[c].to_numpy(str)) for c in ("first", "second"))
    aspect_of = comparisons["aspect"].to_numpy(str)
    won = points(comparisons["outcome"].to_numpy(), flips)
    aspects = [str(a) for a in comparisons["aspect"].unique()]
    of_aspects = []
    for aspect in aspects:
        at = np.flatnonzero((aspect_of == aspect) & ~np.isnan(won))
        games = Games(first[at], second[at], won[at], len(names))
        of_aspects.append(_Strengths.of(games, cluster[at], n_clusters, seed))
    statistic = WithAverage(Stack(of_aspects), values=len(METHODS) * len(names))
    found = bootstrap(statistic, Resampler(n_clusters, resamples, seed), stretch=False)
    shape = (-1, len(METHODS), len(names))
    values, low, high = (v.reshape(shape) for v in (found.value, found.low, found.high))
    counted = [(a, comparisons[aspect_of == a]) for a in aspects]
    if len(aspects) > 1:
        counted.append((AVERAGE, comparisons))
    return [
        Strengths(aspect, tuple(names), values[i], low[i], high[i], _counts(part, names), n_clusters)
        for i, (aspect, part) in enumerate(counted)
    ]


@dataclass(frozen=True, slots=True, eq=False)
class _Strengths:
    """The strengths of the generators by every method, as a function of the clusters' weights."""

    points: Floats
    """Shape (n_clusters, generators, generators), as `metaeval.stats.ranking.comparisons.Games.matrix`."""
    in_order: Games
    """The comparisons as Elo takes them."""
    cluster: Ints
    """Of each comparison in that order."""

    @classmethod
    def of(cls, games: Games, cluster: Ints, n_clusters: int, seed: int) -> _Strengths:
        order = elo_order(len(games), seed)
        return cls(games.matrix(cluster, n_clusters), games.take(order), cluster[order])

    def at(self, weights: Floats) -> Floats:
        """Return shape (methods × generators, columns), the methods in the order of `METHODS`."""
        points = np.einsum("cij,cb->bij", self.points, weights, optimize=True)
        of_method = {
            BRADLEY_TERRY: numbers.bradley_terry(points),
            ELO: numbers.elo(self.in_order, weights[self.cluster]),
            WIN_RATE: numbers.average_win_rate(points),
        }
        return np.concatenate([of_method[method].T for method in METHODS])


def _counts(comparisons: pd.DataFrame, names: Any) -> pd.DataFrame:  # noqa: ANN401 - str of shape (generators,)
    """Return what became of each generator's pairs, a row a generator."""
    import pandas as pd

    outcome = comparisons["outcome"].to_numpy()
    sides = [
        (comparisons["first"].to_numpy(str), outcome == _FIRST, outcome == _SECOND),
        (comparisons["second"].to_numpy(str), outcome == _SECOND, outcome == _FIRST),
    ]
    rows: dict[str, Ints] = {}
    for who, won, lost in sides:
        place = np.searchsorted(names, who)
        kinds = {
            "pairs": np.ones(len(who)),
            "won": won,
            "lost": lost,
            "ties": outcome == _TIE,
            "flips": outcome == FLIP,
            "failed": outcome < 0,
        }
        for kind, there in kinds.items():
            rows[kind] = rows.get(kind, 0) + np.bincount(place, there, len(names)).astype(np.int64)
    return pd.DataFrame(rows)
