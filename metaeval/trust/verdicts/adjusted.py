"""Further strengths from verdicts on pairs: of the graph of wins, and win rates at equal lengths."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from metaeval.base.errors import DataError
from metaeval.data.verdicts import LENGTHS
from metaeval.engine.sheet import Column, Sheet
from metaeval.evaluators.verdicts import PairFlips, each_order, pair_keys, points_of
from metaeval.stats.coefficients.tables import Floats, Ints
from metaeval.stats.ranking.comparisons import Games, graph_strengths, length_controlled_rate
from metaeval.stats.resampling.bootstrap import Resampler, bootstrap
from metaeval.stats.resampling.cluster_sums import jackknife_deviations, jackknife_interval
from metaeval.stats.resampling.significance import FEWEST_CLUSTERS
from metaeval.trust.verdicts.agreement import clusters_of, intervals_note

_HEAD = (Column("evaluator", "Evaluator"), Column("aspect", "Aspect"), Column("generator", "Generator"))


def _counted(
    comparisons: pd.DataFrame, rules: Mapping[str, PairFlips]
) -> Iterator[tuple[dict[str, str], pd.DataFrame, Floats]]:
    """Yield each evaluator and aspect, the comparisons that count, and the points of ``first``."""
    for (evaluator, aspect), part in comparisons.groupby(["evaluator", "aspect"], sort=False, observed=True):
        rule = rules[str(evaluator)]
        own = each_order(part) if rule == "each" else part
        won = points_of(own, rule)
        there = ~np.isnan(won)
        if there.any():
            yield {"evaluator": str(evaluator), "aspect": str(aspect)}, own[there], won[there]


@dataclass(frozen=True, slots=True, eq=False)
class _Graph:
    method: str
    games: Games
    cluster: Ints

    def at(self, weights: Floats) -> Floats:
        """Return the strengths, shape (generators, columns)."""
        return graph_strengths(self.method, self.games, weights[self.cluster]).T


def graph_sheet(comparisons: pd.DataFrame, rules: Mapping[str, PairFlips], methods: Sequence[str]) -> Sheet:
    """Return strengths of the graph of wins (`GRAPHS`), with intervals of the jackknife over clusters."""
    rows: list[dict[str, Any]] = []
    for head, part, won in _counted(comparisons, rules):
        cluster, n = clusters_of(part)
        names = np.unique(part[["first", "second"]].to_numpy(str))
        first, second = (np.searchsorted(names, part[c].to_numpy(str)) for c in ("first", "second"))
        games = Games(first, second, won, len(names))
        found: dict[str, Floats] = {}
        for method in methods:
            statistic = _Graph(method, games, cluster)
            value = statistic.at(np.ones((n, 1)))[:, 0]
            low = high = value * np.nan
            if n >= FEWEST_CLUSTERS:
                ends = np.full(len(names), -np.inf), np.full(len(names), np.inf)
                low, high = jackknife_interval(value, jackknife_deviations(statistic, n), 0.95, *ends)
            found |= {method: value, f"{method}_low": low, f"{method}_high": high}
        table = pd.DataFrame({"generator": names, **found}).sort_values(methods[0], ascending=False)
        rows += [{**head, **{str(k): v for k, v in row.items()}} for row in table.to_dict("records")]
    columns = (*_HEAD, *(Column(m, m.capitalize(), "number", f"{m}_low", f"{m}_high") for m in methods))
    notes = (
        "Counting: points won. Eigen: the leading eigenvector of the points won of each other.",
        "PageRank: of the graph in which who loses points to who wins. By evalica; a tie is half a point.",
        "Brackets hold 95 % intervals of the jackknife over clusters.",
    )
    return Sheet("graphs", "Strengths of the graph of wins", pd.DataFrame(rows), columns, notes)


@dataclass(frozen=True, slots=True, eq=False)
class _EqualLengths:
    won: Floats
    longer: Floats
    cluster: Ints

    def at(self, weights: Floats) -> Floats:
        """Return the win rate at equal lengths, shape (1, columns)."""
        return length_controlled_rate(self.won, self.longer, weights[self.cluster])[None]


def length_sheet(
    comparisons: pd.DataFrame,
    verdicts: pd.DataFrame,
    rules: Mapping[str, PairFlips],
    *,
    resamples: int,
    seed: int,
) -> Sheet:
    """Return the win rate of every two generators at equal lengths of their texts, beside the plain one.

    The verdicts have `LENGTHS`; `DataError` is raised if a pair has two, or a length is no number.
    """
    by = [*pair_keys(verdicts), "first", "second"]
    known = verdicts[[*by, *LENGTHS]].drop_duplicates()
    known = known.assign(**{c: pd.to_numeric(known[c], errors="coerce") for c in LENGTHS})
    if known.duplicated(by).any() or known[list(LENGTHS)].isna().any(axis=None):
        raise DataError("each pair must have one length of both texts, a number")
    rows: list[dict[str, Any]] = []
    for head, counted, points_won in _counted(comparisons, rules):
        part = counted.assign(points=points_won).merge(known, on=by, how="left", validate="many_to_one")
        for (one, other), own in part.groupby(["first", "second"], sort=False, observed=True):
            cluster, n = clusters_of(own)
            won, longer = own["points"].to_numpy(), (own[LENGTHS[0]] - own[LENGTHS[1]]).to_numpy(np.float64)
            statistic = _EqualLengths(won, longer, cluster)
            found = bootstrap(statistic, Resampler(n, resamples, seed), bounds=(0.0, 1.0), stretch=False)
            rate, low, high = (float(v[0]) for v in (found.value, found.low, found.high))
            plain, gap = float(won.mean()), float(longer.mean())
            for names, numbers in (
                ((one, other), (plain, rate, low, high, gap)),
                ((other, one), (1 - plain, 1 - rate, 1 - high, 1 - low, -gap)),
            ):
                keys = ("win_rate", "controlled", "controlled_low", "controlled_high", "longer")
                row = {"generator": names[0], "opponent": names[1], "pairs": len(own)}
                rows.append({**head, **row, **dict(zip(keys, numbers, strict=True))})
    frame = pd.DataFrame(rows).sort_values(
        ["evaluator", "aspect", "controlled"], ascending=[True, True, False], kind="stable", ignore_index=True
    )
    columns = (
        *_HEAD,
        Column("opponent", "Against"),
        Column("controlled", "At equal lengths", "share", "controlled_low", "controlled_high"),
        Column("win_rate", "Win rate", "share"),
        Column("longer", "Longer by", "number"),
        Column("pairs", "Pairs", "count"),
    )
    notes = (
        "At equal lengths: logistic regression of winning on tanh(d / s), d being the difference of lengths.",
        "The rate is that at d = 0; s is the SD of d (AlpacaEval 2, without the difficulty of instructions).",
        intervals_note(verdicts, resamples, seed),
    )
    title = "Win rates at equal lengths"
    return Sheet("length-controlled", title, frame, columns, notes)
