"""Generators ranked by verdicts on pairs: Bradley and Terry's model, Elo and win rate, with intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from metaeval.base.records import AVERAGE, FIRST, SECOND, TIE
from metaeval.evaluators.strengths import BRADLEY_TERRY, ELO, METHODS, WIN_RATE, elo_order, strengths
from metaeval.evaluators.verdicts import FLIP, OUTCOMES, points
from metaeval.stats.ranking import comparisons as numbers
from metaeval.stats.ranking.comparisons import Games
from metaeval.stats.resampling.weights import Resamples, expanded, percentile_interval
from metaeval.trust.verdicts.rates import CONFIDENCE, clusters_of

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

    Point estimates are those of ``evalica``. A resample draws users (items, in data without users) with all
    their comparisons, on all aspects alike.

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
    estimates, replicates, found = [], [], []
    level = expanded(CONFIDENCE, n_clusters)
    for aspect in aspects:
        here = aspect_of == aspect
        at = np.flatnonzero(here & ~np.isnan(won))
        games = Games(first[at], second[at], won[at], len(names))
        estimates.append(np.stack([strengths(method, games, seed) for method in METHODS]))
        replicates.append(_replicates(games, cluster[at], Resamples(n_clusters, resamples, seed)))
        low, high = percentile_interval(np.moveaxis(replicates[-1], 1, -1), level)
        counts = _counts(comparisons[here], names)
        found.append(Strengths(aspect, tuple(names), estimates[-1], low, high, counts, n_clusters))
    if len(aspects) > 1:
        low, high = percentile_interval(np.moveaxis(np.mean(replicates, axis=0), 1, -1), level)
        every = _counts(comparisons, names)
        found.append(
            Strengths(AVERAGE, tuple(names), np.mean(estimates, axis=0), low, high, every, n_clusters)
        )
    return found


def _replicates(games: Games, cluster: Ints, resamples: Resamples) -> Floats:
    """Return the strengths in each resample, shape (methods, resamples, generators)."""
    by_cluster = games.matrix(cluster, resamples.n_clusters)
    order = elo_order(len(games), resamples.seed)
    in_order, of_game = games.take(order), cluster[order]
    blocks = []
    for weights in resamples.blocks():
        won = np.einsum("cij,cb->bij", by_cluster, weights, optimize=True)
        of_method = {
            BRADLEY_TERRY: numbers.bradley_terry(won),
            ELO: numbers.elo(in_order, weights[of_game]),
            WIN_RATE: numbers.average_win_rate(won),
        }
        blocks.append(np.stack([of_method[method] for method in METHODS]))
    return np.concatenate(blocks, axis=1)


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
