"""Strengths of generators from verdicts on pairs: Bradley–Terry, Elo and win rate, with intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from metaeval.base.records import AVERAGE
from metaeval.evaluators.strengths import BRADLEY_TERRY, ELO, METHODS, WIN_RATE, elo_order
from metaeval.evaluators.verdicts import points
from metaeval.stats.ranking import comparisons as numbers
from metaeval.stats.ranking.comparisons import Games
from metaeval.stats.resampling.bootstrap import Resampler, bootstrap
from metaeval.stats.resampling.cluster_sums import Stack, WithAverage
from metaeval.trust.verdicts.rates import clusters_of

if TYPE_CHECKING:
    import pandas as pd

    from metaeval.evaluators.verdicts import Flips
    from metaeval.stats.coefficients.tables import Floats, Ints

_KINDS = ("won", "lost", "ties", "flips", "failed")


@dataclass(frozen=True, slots=True, eq=False)
class Strengths:
    """Strengths of the generators by one evaluator's verdicts on one aspect."""

    aspect: str
    """An aspect, or ``average``: the mean over aspects."""
    generators: tuple[str, ...]
    estimate: Floats
    """Shape (methods, generators), the methods in the order of `METHODS`; NaN without a comparison."""
    low: Floats
    high: Floats
    counts: pd.DataFrame
    """One row per generator: ``pairs``, ``won``, ``lost``, ``ties``, ``flips``, ``failed``."""


def rank_by_verdicts(
    comparisons: pd.DataFrame, *, flips: Flips = "tie", resamples: int = 1_000, seed: int = 0
) -> list[Strengths]:
    """Return the strengths of the generators by one evaluator's verdicts.

    The bootstrap resamples users (items, in data without users), alike for all aspects.

    Parameters
    ----------
    comparisons
        Of one evaluator, as `metaeval.evaluators.verdicts.comparisons_of` returns them.
    flips
        ``tie``: half a point for each side; ``drop``: not counted.
    resamples, seed
        Of the clusters; the seed also orders the comparisons for Elo.

    Returns
    -------
    list of Strengths
        One per aspect; with several aspects, their average last.
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
        Strengths(aspect, tuple(names), values[i], low[i], high[i], _counts(part, names))
        for i, (aspect, part) in enumerate(counted)
    ]


@dataclass(frozen=True, slots=True, eq=False)
class _Strengths:
    """The strengths by every method, as a statistic of cluster weights."""

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
    """Count the outcomes of each generator's pairs, one row per generator."""
    import pandas as pd

    outcome = comparisons["outcome"].to_numpy()
    # By the code of the outcome, as `metaeval.evaluators.verdicts.OUTCOMES`; the last is -1.
    of_first = np.array(["ties", "won", "lost", "flips", "failed"])[outcome]
    of_second = np.array(["ties", "lost", "won", "flips", "failed"])[outcome]
    generators = np.concatenate([comparisons[side].to_numpy(str) for side in ("first", "second")])
    table = pd.crosstab(generators, np.concatenate([of_first, of_second]))
    table = table.reindex(index=names, columns=list(_KINDS), fill_value=0).rename_axis(columns=None)
    table.insert(0, "pairs", table.sum(axis=1))
    return table.reset_index(drop=True)
