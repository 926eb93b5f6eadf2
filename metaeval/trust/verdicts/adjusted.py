"""Further strengths from verdicts on pairs: of the graph of wins, and win rates at equal lengths."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from metaeval.base.errors import DataError
from metaeval.data.verdicts.verdict_columns import LENGTHS
from metaeval.engine.sheet import Column, Sheet
from metaeval.evaluators.verdicts import PairFlips, each_order, pair_keys, points_of
from metaeval.stats.coefficients.tables import Floats, Ints
from metaeval.stats.ranking.comparisons import (
    Games,
    difficulties,
    graph_strengths,
    length_controlled_rate,
)
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


_HARD = "by_difficulty"
_OTHERS = 3
"""How many others must have met an opponent for its instructions' difficulty to be known."""
_DIFFICULTY = (
    "And difficulty: with that of each instruction as a term, as the others that met the same opponent fare "
    "on it (at equal lengths, shrunk; held fixed by the bootstrap); the rate is the mean over instructions."
)


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
        "Bradley-terry: strengths that sum to 1, without a tie with a fixed opponent. Counting: points won.",
        "Eigen: the leading eigenvector of the points won of each other. Newman: a model of wins and ties.",
        "PageRank: of the graph in which who loses points to who wins. A tie is half a point, but Newman's.",
        "By evalica, all but the first.",
        "Brackets hold 95 % intervals of the jackknife over clusters.",
    )
    return Sheet("graphs", "Strengths of the graph of wins", pd.DataFrame(rows), columns, notes)


@dataclass(frozen=True, slots=True, eq=False)
class _EqualLengths:
    won: Floats
    longer: Floats
    cluster: Ints
    difficulty: Floats | None

    def at(self, weights: Floats) -> Floats:
        """Return the win rate at equal lengths and, if it is known, by difficulty: shape (rates, columns)."""
        ways = [None] if self.difficulty is None else [None, self.difficulty]
        by_pair = weights[self.cluster]
        return np.stack([length_controlled_rate(self.won, self.longer, by_pair, way) for way in ways])


def _by_the_others(part: pd.DataFrame, own: pd.DataFrame) -> Floats | None:
    """Return the difficulty of each pair in ``own`` for its first side, by the others that met its second.

    Or for its second by those that met its first, turned round. None if there are fewer than `_OTHERS`.
    """
    ends = own[["first", "second"]].iloc[0].tolist()
    for (player, opponent), sign in ((ends, 1.0), (ends[::-1], -1.0)):
        first, second = (part[side].to_numpy() for side in ("first", "second"))
        turned = first == opponent
        who = np.where(turned, second, first)
        use = (turned | (second == opponent)) & (who != player) & part["pair"].isin(own["pair"]).to_numpy()
        others, names = pd.factorize(who[use])
        if len(names) >= _OTHERS:
            won, gap = (part.loc[use, c].to_numpy(np.float64) for c in ("points", "gap"))
            at, pairs = pd.factorize(part.loc[use, "pair"])
            won, gap = np.where(turned[use], 1 - won, won), np.where(turned[use], -gap, gap)
            known = pd.Series(sign * difficulties(won, gap, others, at), index=pairs)
            return np.asarray(known.reindex(own["pair"]).fillna(0.0), dtype=np.float64)
    return None


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
        part = part.assign(
            gap=(part[LENGTHS[0]] - part[LENGTHS[1]]).astype(np.float64),
            pair=part.groupby(pair_keys(verdicts), sort=False).ngroup(),
        )
        for (one, other), own in part.groupby(["first", "second"], sort=False, observed=True):
            cluster, n = clusters_of(own)
            won, longer = own["points"].to_numpy(), own["gap"].to_numpy()
            statistic = _EqualLengths(won, longer, cluster, _by_the_others(part, own))
            found = bootstrap(statistic, Resampler(n, resamples, seed), bounds=(0.0, 1.0), stretch=False)
            of_way = np.array([found.value, found.low, found.high]).T.tolist()
            ways = dict(zip(("controlled", _HARD), of_way, strict=False))
            for (player, opponent), turn in (((one, other), False), ((other, one), True)):
                row: dict[str, Any] = {"generator": player, "opponent": opponent, "pairs": len(own)}
                row |= {"win_rate": float(won.mean()), "longer": float(longer.mean()) * (-1 if turn else 1)}
                row["win_rate"] = 1 - row["win_rate"] if turn else row["win_rate"]
                for way, (rate, low, high) in ways.items():
                    values = (1 - rate, 1 - high, 1 - low) if turn else (rate, low, high)
                    row |= dict(zip((way, f"{way}_low", f"{way}_high"), values, strict=True))
                rows.append({**head, **row})
    frame = pd.DataFrame(rows)
    harder = _HARD in frame
    frame = frame.sort_values(
        ["evaluator", "aspect", "controlled"], ascending=[True, True, False], kind="stable", ignore_index=True
    )
    columns = (
        *_HEAD,
        Column("opponent", "Against"),
        Column("controlled", "At equal lengths", "share", "controlled_low", "controlled_high"),
        *([Column(_HARD, "And difficulty", "share", f"{_HARD}_low", f"{_HARD}_high")] if harder else []),
        Column("win_rate", "Win rate", "share"),
        Column("longer", "Longer by", "number"),
        Column("pairs", "Pairs", "count"),
    )
    notes = (
        "At equal lengths: logistic regression of winning on tanh(d / s), d being the difference of lengths.",
        "The rate is that at d = 0; s is the SD of d (AlpacaEval 2, without the difficulty of instructions).",
        *([_DIFFICULTY] if harder else []),
        intervals_note(verdicts, resamples, seed),
    )
    title = "Win rates at equal lengths"
    return Sheet("length-controlled", title, frame, columns, notes)
