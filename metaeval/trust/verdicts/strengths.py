"""Pairwise judges: the outcomes of pairs, and the strengths of generators by them, with intervals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from metaeval.base.errors import DataError
from metaeval.base.records import AVERAGE, FIRST, SECOND, TIE
from metaeval.data.verdicts.verdict_columns import LENGTHS, PLAYED
from metaeval.engine.sheet import Column, Sheet, columns
from metaeval.evaluators.verdicts import (
    BRADLEY_TERRY,
    ELO,
    FLIP,
    FLIPS,
    METHODS,
    OUTCOMES,
    WIN_RATE,
    PairFlips,
    comparisons_of,
    each_order,
    elo_order,
    points_of,
)
from metaeval.stats.coefficients.tables import Floats, Ints
from metaeval.stats.ranking import comparisons as numbers
from metaeval.stats.ranking.comparisons import ELO_K, PRIOR, Games
from metaeval.stats.resampling.bootstrap import Resampler, bootstrap
from metaeval.stats.resampling.cluster_sums import Stack, WithAverage
from metaeval.trust.verdicts.adjusted import graph_sheet, length_sheet
from metaeval.trust.verdicts.agreement import (
    FIRST_NOTE,
    FIRST_SHARE,
    clusters_of,
    first_shares,
    intervals_note,
    shares_of,
)

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
    group: Ints
    """Of each generator: those of two groups never met, so that nothing orders them."""
    win_rate_error: Floats
    """Standard error of the win rate, by cluster; shape (generators,)."""
    elo_spread: Floats
    """Standard deviation of Elo over orders of the comparisons; NaN where verdicts have an order."""
    counts: pd.DataFrame
    """One row per generator: ``pairs``, ``won``, ``lost``, ``ties``, ``flips``, ``failed``."""


def rank_by_verdicts(
    comparisons: pd.DataFrame, *, flips: PairFlips = "tie", resamples: int = 1_000, seed: int = 0
) -> list[Strengths]:
    """Return the strengths of the generators by one evaluator's verdicts.

    The bootstrap resamples users (items, in data without users), alike for all aspects.

    With several aspects, their average is last. The comparisons are of one evaluator, as
    `metaeval.evaluators.verdicts.comparisons_of` returns them. A flip is half a point for each side
    (``tie``), or not counted (``drop``); or both orders count, each by itself (``each``). Elo takes the
    comparisons in the order that they have (``played``), or else in one that the seed draws.
    """
    comparisons = each_order(comparisons) if flips == "each" else comparisons
    cluster, n_clusters = clusters_of(comparisons)
    names = np.unique(comparisons[["first", "second"]].to_numpy(str))
    first, second = (np.searchsorted(names, comparisons[c].to_numpy(str)) for c in ("first", "second"))
    aspect_of = comparisons["aspect"].to_numpy(str)
    won = points_of(comparisons, flips)
    aspects = [str(a) for a in comparisons["aspect"].unique()]
    of_aspects: list[_Strengths] = []
    groups, spreads = [], []
    for aspect in aspects:
        at = np.flatnonzero((aspect_of == aspect) & ~np.isnan(won))
        games = Games(first[at], second[at], won[at], len(names))
        group, given = numbers.components(games), PLAYED in comparisons
        order = (
            np.argsort(comparisons[PLAYED].to_numpy()[at], kind="stable")
            if given
            else elo_order(len(games), seed)
        )
        of_aspects.append(_Strengths.of(games, cluster[at], n_clusters, group, order))
        groups.append(group)
        spreads.append(np.full(len(names), np.nan) if given else numbers.elo_spread(games, seed))
    statistic = WithAverage(Stack(of_aspects), values=len(METHODS) * len(names))
    found = bootstrap(statistic, Resampler(n_clusters, resamples, seed), stretch=False)
    shape = (-1, len(METHODS), len(names))
    values, low, high = (v.reshape(shape) for v in (found.value, found.low, found.high))
    counted = [(a, comparisons[aspect_of == a]) for a in aspects]
    if len(aspects) > 1:
        counted.append((AVERAGE, comparisons))
        # Two are of one group on average if they are so in each aspect. Orders of aspects are drawn apart.
        groups.append(np.unique(np.stack(groups), axis=1, return_inverse=True)[1].reshape(-1))
        spreads.append(np.sqrt(np.square(spreads).sum(axis=0)) / len(aspects))
    by_cluster = [of.points for of in of_aspects]
    errors = [numbers.win_rate_errors([of]) for of in by_cluster]
    errors += [numbers.win_rate_errors(by_cluster)] * (len(aspects) > 1)
    return [
        Strengths(
            aspect,
            tuple(names),
            *(values[i], low[i], high[i], groups[i], errors[i], spreads[i]),
            _counts(part, names),
        )
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
    group: Ints

    @classmethod
    def of(cls, games: Games, cluster: Ints, n_clusters: int, group: Ints, order: Ints) -> _Strengths:
        return cls(games.matrix(cluster, n_clusters), games.take(order), cluster[order], group)

    def at(self, weights: Floats) -> Floats:
        """Return shape (methods × generators, columns), the methods in the order of `METHODS`."""
        points = np.einsum("cij,cb->bij", self.points, weights, optimize=True)
        strengths = numbers.bradley_terry(points)
        if self.group.any():  # each group has its own mean
            for one in range(self.group.max() + 1):
                strengths[:, self.group == one] = numbers.centred(strengths[:, self.group == one])
        of_method = {
            BRADLEY_TERRY: strengths,
            ELO: numbers.elo(self.in_order, weights[self.cluster]),
            WIN_RATE: numbers.average_win_rate(points),
        }
        return np.concatenate([of_method[method].T for method in METHODS])


def _counts(comparisons: pd.DataFrame, names: Any) -> pd.DataFrame:  # noqa: ANN401 - str of shape (generators,)
    """Count the outcomes of each generator's pairs, one row per generator."""
    outcome = comparisons["outcome"].to_numpy()
    # By the code of the outcome, as `metaeval.evaluators.verdicts.OUTCOMES`; the last is -1.
    of_first = np.array(["ties", "won", "lost", "flips", "failed"])[outcome]
    of_second = np.array(["ties", "lost", "won", "flips", "failed"])[outcome]
    generators = np.concatenate([comparisons[side].to_numpy(str) for side in ("first", "second")])
    table = pd.crosstab(generators, np.concatenate([of_first, of_second]))
    table = table.reindex(index=names, columns=list(_KINDS), fill_value=0).rename_axis(columns=None)
    table.insert(0, "pairs", table.sum(axis=1))
    return table.reset_index(drop=True)


_FIRST, _SECOND, _TIE = (OUTCOMES.index(o) for o in (FIRST, SECOND, TIE))
_SHORT = {"bradley-terry": "bt", "elo": "elo", "win-rate": "win_rate"}
_PAIRS = (
    Column("evaluator", "Evaluator"),
    Column("aspect", "Aspect"),
    *columns(
        "count", pairs="Pairs asked", wins="Consistent wins", ties="Ties", flips="Flips", failed="Failed"
    ),
    Column("flip_share", "Share of flips", "share", "flip_share_low", "flip_share_high"),
    FIRST_SHARE,
)
_OF_PAIRS = (
    "Every pair is asked about in both orders; people say it once, in an order that is drawn.",
    "A win, or a tie, counts only if both orders say so; a flip is a pair on which they differ.",
    "A pair has failed if an order has no verdict.",
    "Share of flips: among pairs with two verdicts.",
    FIRST_NOTE,
)
_OF_RANKING = (
    "Bradley–Terry: log strengths, their mean 0; a difference d is odds of exp(d) to 1 of winning.",
    f"Each generator is given {PRIOR:g} tie with an opponent of fixed strength, so that none is infinite.",
    f"Elo: from 1000, K = {ELO_K:g}; 400 points are odds of 10 to 1.",
    "Win rate: the mean over opponents of the share of points. A tie is half a point.",
    "Ranks begin at the best; equal strengths share one. A row of the average is the mean over aspects.",
)


_BY_DRAWN_ORDER = "the comparisons stand in a drawn order, and other orders give other ratings (SD over 50)."
_BY_GIVEN_ORDER = "the comparisons stand in the order that the verdicts have."


def pairwise_sheets(
    verdicts: pd.DataFrame,
    *,
    flips: Mapping[str, PairFlips] | None = None,
    graphs: Sequence[str] = (),
    resamples: int = 1_000,
    seed: int = 0,
) -> list[Sheet]:
    """Return the outcomes of the pairs, and the generators as each evaluator ranks them.

    ``flips`` says how each evaluator counts a flip (``tie``, if left out); ``graphs`` names further strengths
    (`GRAPHS`). Verdicts with the lengths of both texts have win rates at equal lengths. Users are resampled,
    or items in data without users. `DataError` is raised if there are no verdicts, or they are not valid
    (`metaeval.evaluators.verdicts`).
    """
    if verdicts.empty:
        raise DataError("there are no verdicts on pairs")
    how = intervals_note(verdicts, resamples, seed)
    found = comparisons_of(verdicts)
    rows: list[dict[str, Any]] = []
    ranked: list[pd.DataFrame] = []
    rules: set[PairFlips] = set()
    for evaluator, part in found.groupby("evaluator", sort=False, observed=True):
        rule = (flips or {}).get(str(evaluator), FLIPS[0])
        rules.add(rule)
        rows += [{"evaluator": evaluator, **row} for row in _pairs_rows(part, resamples, seed)]
        for strengths in rank_by_verdicts(part, flips=rule, resamples=resamples, seed=seed):
            frame = strengths.counts.assign(generator=list(strengths.generators))
            frame.insert(0, "evaluator", evaluator)
            frame.insert(1, "aspect", strengths.aspect)
            met = strengths.counts["pairs"].to_numpy() > strengths.counts["failed"].to_numpy()
            groups = rankdata(np.where(met, strengths.group, np.nan), "dense", nan_policy="omit")
            frame["group"], frame["elo_spread"] = groups, strengths.elo_spread
            frame["win_rate_se"] = strengths.win_rate_error
            for m, method in enumerate(METHODS):
                short = _SHORT[method]
                # Strengths that differ by rounding errors alone are tied, and NaN has no rank.
                value = strengths.estimate[m].round(9) + 0.0
                frame[short] = np.where(value == 0, value, strengths.estimate[m])
                frame[f"{short}_low"], frame[f"{short}_high"] = strengths.low[m], strengths.high[m]
                frame[f"{short}_rank"] = pd.Series(value).groupby(groups).rank(ascending=False, method="min")
            ranked.append(frame.sort_values(["group", "bt_rank", "generator"], kind="stable"))
    frames = [pd.DataFrame(rows), pd.concat(ranked, ignore_index=True)]
    notes = (*_OF_PAIRS, how)
    pairs = Sheet("pairs", "Outcomes of the pairs", frames[0], _PAIRS, notes)
    rule_of = {str(name): (flips or {}).get(str(name), FLIPS[0]) for name in found["evaluator"].unique()}
    sheets = [pairs, _ranking_sheet(frames[1], how, rules)]
    if graphs:
        sheets.append(graph_sheet(found, rule_of, graphs))
    if set(LENGTHS) <= {*verdicts}:
        sheets.append(length_sheet(found, verdicts, rule_of, resamples=resamples, seed=seed))
    return sheets


def _pairs_rows(comparisons: pd.DataFrame, resamples: int, seed: int) -> Iterator[dict[str, Any]]:
    """Yield the outcomes of one evaluator's pairs, aspect by aspect."""
    aspects = comparisons["aspect"].astype(str).to_numpy()
    outcome = comparisons["outcome"].to_numpy()
    names = [str(a) for a in comparisons["aspect"].unique()]
    here = np.stack([aspects == a for a in names], axis=1)
    valid = ((outcome >= 0) & (comparisons["due"] == 2).to_numpy())[:, None] & here
    hits = valid & (outcome == FLIP)[:, None]
    flipped = shares_of(comparisons, hits, valid, resamples=resamples, seed=seed)
    for_first = first_shares(comparisons, here, resamples=resamples, seed=seed)
    for mine, name, flip_share, first_share in zip(here.T, names, flipped, for_first, strict=True):
        kinds = outcome[mine]
        yield {
            "aspect": name,
            "pairs": len(kinds),
            "wins": int(np.isin(kinds, (_FIRST, _SECOND)).sum()),
            "ties": int((kinds == _TIE).sum()),
            "flips": int((kinds == FLIP).sum()),
            "failed": int((kinds < 0).sum()),
            **flip_share.row("flip_share"),
            **first_share.row("first_share"),
        }


def _ranking_sheet(frame: pd.DataFrame, how: str, rules: set[PairFlips]) -> Sheet:
    drawn = frame["elo_spread"].notna().any()
    said = {
        "tie": "A flip is half a point for each side.",
        "drop": "A flip is not counted.",
        "each": "Both orders of a pair count, each by itself: pairs are verdicts here.",
    }
    apart = [*_apart(frame)]
    rule = said[next(iter(rules))] if len(rules) == 1 else "A flip counts as the evaluator's signature says."
    shown = [
        Column("evaluator", "Evaluator"),
        Column("aspect", "Aspect"),
        Column("generator", "Generator"),
        *([Column("group", "Group", "count")] if apart else []),
        Column("bt_rank", "Rank", "count"),
        Column("bt", "Bradley–Terry", "number", "bt_low", "bt_high"),
        Column("elo_rank", "Rank", "count"),
        Column("elo", "Elo", "number", "elo_low", "elo_high"),
        *([Column("elo_spread", "Elo's SD over orders", "number")] if drawn else []),
        Column("win_rate_rank", "Rank", "count"),
        Column("win_rate", "Win rate", "share", "win_rate_low", "win_rate_high"),
        Column("win_rate_se", "Its standard error", "share"),
        *(Column(c, c.capitalize(), "count") for c in ("pairs", "won", "lost", "ties", "flips", "failed")),
    ]
    return Sheet(
        "ranking",
        "Generators, as pairwise judges rank them",
        frame,
        tuple(shown),
        (*apart, *_OF_RANKING, f"Elo: {_BY_DRAWN_ORDER if drawn else _BY_GIVEN_ORDER}", rule, how),
    )


def _apart(frame: pd.DataFrame) -> Iterator[str]:
    """Yield which generators never met, over any others; nothing orders them."""
    for (evaluator, aspect), rows in frame.groupby(["evaluator", "aspect"], sort=False):
        names = [", ".join(map(str, own)) for _, own in rows.groupby("group")["generator"]]
        if len(names) > 1:
            of = f"{evaluator}{f', {aspect}' if aspect else ''}"
            yield f"{of}: no pair connects {'; '.join(names)}. Each group is ranked by itself."
