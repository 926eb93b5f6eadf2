"""Shares of verdicts, κ, precision, recall and F1, with intervals; tests of judges; systems in pairs."""

from __future__ import annotations

import functools

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from metaeval.base.keys import noun
from metaeval.base.records import FIRST, SECOND
from metaeval.engine.sheet import Column, Sheet
from metaeval.evaluators.verdicts import WINNERS, Orders, pair_keys, votes_of
from metaeval.stats.coefficients.tables import Floats, Ints
from metaeval.stats.resampling.bootstrap import Estimate, Resampler, bootstrap, each
from metaeval.stats.resampling.cluster_sums import ClusterSums, mean_of, ratio
from metaeval.stats.resampling.paired import paired_test
from metaeval.stats.resampling.significance import holm
from metaeval.stats.resampling.weights import Swaps, one_thread
from metaeval.stats.weighted.sums import Clusters, by_cluster, dense

_FIRST, _SECOND = WINNERS.index(FIRST), WINNERS.index(SECOND)
FIRST_SHARE = Column("first_share", "For the first shown", "share", "first_share_low", "first_share_high")
FIRST_NOTE = (
    "For the first shown: of all verdicts that name a text, those for the one shown first; 50 % is even."
)


def clusters_of(comparisons: pd.DataFrame) -> tuple[Ints, int]:
    """Return the cluster of each comparison, its user or else its item, and how many there are."""
    codes, names = pd.factorize(comparisons[pair_keys(comparisons)[0]])
    return codes.astype(np.int64), len(names)


def intervals_note(verdicts: pd.DataFrame, resamples: int, seed: int) -> str:
    """Say how the intervals of shares and strengths were made."""
    return (
        f"Brackets hold 95 % bootstrap intervals (percentiles, widened for few clusters; {resamples:,} "
        f"resamples of {noun(pair_keys(verdicts)[0])}s, seed {seed}); an interval without width means that "
        "all were alike."
    )


def shares_of(
    comparisons: pd.DataFrame, hits: ArrayLike, of: ArrayLike, *, resamples: int, seed: int
) -> list[Estimate[float]]:
    """Return shares of hits, with 95 % bootstrap intervals, widened for few clusters.

    ``hits`` and ``of`` are counts of shape (comparisons, shares); a share is the ratio of their sums.
    """
    cluster, n = clusters_of(comparisons)
    above, below = (
        np.array([np.bincount(cluster, v, n) for v in np.asarray(counts).T], dtype=np.float64)
        for counts in (hits, of)
    )
    return each(bootstrap(mean_of(above, below), Resampler(n, resamples, seed), stretch=False))


def first_shares(
    comparisons: pd.DataFrame, part: ArrayLike, *, resamples: int, seed: int
) -> list[Estimate[float]]:
    """Return the share of verdicts for the text shown first in each part, shape (comparisons, parts)."""
    one, two = (comparisons[c].to_numpy() for c in ("shown_first", "shown_second"))
    for_first = (one == _FIRST).astype(int) + (two == _SECOND)
    named = sum(np.isin(codes, (_FIRST, _SECOND)).astype(int) for codes in (one, two))
    here = np.asarray(part).T
    return shares_of(comparisons, (here * for_first).T, (here * named).T, resamples=resamples, seed=seed)


MEASURES = ("accuracy", "kappa", "precision", "recall", "f1")
_COUNTS = ("ties", "won", "lost", "missing")  # of the first system, in the order of `WINNERS`
_N = len(WINNERS)


def agreement_of(
    comparisons: pd.DataFrame, orders: Orders, *, resamples: int, seed: int
) -> list[list[Estimate[float]]]:
    """Return `MEASURES` of each evaluator's verdicts, with intervals.

    Precision, recall and F1 are means over tie, first and second, as far as the gold preferences or the
    verdicts have them, 0 where one is undefined (scikit-learn's macro average with ``zero_division=0``). A
    missing verdict lowers accuracy and recall; kappa leaves it out.
    """
    votes, found = votes_of(comparisons, orders), []
    cell, (cluster, n) = (votes["gold"] * _N + votes["code"]).to_numpy(), clusters_of(votes)
    evaluators = votes["evaluator"].astype(str).to_numpy()
    for name in dict.fromkeys(evaluators):
        at = np.flatnonzero(evaluators == name)
        sums = dense(by_cluster(np.ones(len(at)), cell[at], _N * _N, Clusters(cluster[at], n)))
        every = sums.sum(axis=1).reshape(_N, _N)
        labels = np.flatnonzero((every.sum(axis=0) + every.sum(axis=1))[:-1])
        statistic = ClusterSums(sums, functools.partial(_measures, labels=labels))
        found.append(each(bootstrap(statistic, Resampler(n, resamples, seed), stretch=False)))
    return found


def _measures(sums: Floats, labels: Ints) -> Floats:
    """Return `MEASURES` from tables of gold preferences by verdicts, the last of which is none."""
    table = sums.reshape(_N, _N, -1)
    right = np.einsum("iib->ib", table)[labels]
    given, said = table.sum(axis=1)[labels], table.sum(axis=0)[labels]
    shares = [ratio(right, said), ratio(right, given), ratio(2 * right, said + given)]
    every, n, rows = sums.sum(axis=0), table[:, :-1].sum(axis=(0, 1)), table[:, :-1].sum(axis=1)[labels]
    kappa = 1 - ratio((n - right.sum(axis=0)) * n, n * n - (rows * said).sum(axis=0))
    means = np.where(every > 0, np.nan_to_num(shares).mean(axis=1), np.nan)
    return np.stack([ratio(right.sum(axis=0), every), kappa, *means])


def _differences(sums: Floats, one: Ints, other: Ints) -> Floats:
    """Return differences of shares from what is counted and of what, shape (2, judges, columns)."""
    shares = ratio(*sums)
    return shares[one] - shares[other]


@one_thread()
def judges_sheet(known: pd.DataFrame, orders: Orders, *, resamples: int, seed: int) -> Sheet:
    """Test every two judges for a difference of accuracy.

    ``known`` are comparisons with a gold preference (`metaeval.trust.verdicts.accuracy.with_gold`).
    """
    rows = []
    for aspect, part in known.groupby("aspect", sort=False, observed=True):
        votes = votes_of(part, orders)
        judge, names = pd.factorize(votes["evaluator"].astype(object).map(str))
        cluster, n = clusters_of(votes)
        hits = (votes["code"] == votes["gold"]).to_numpy().astype(np.float64)
        counts = (by_cluster(v, judge, len(names), Clusters(cluster, n)) for v in (hits, np.ones(len(hits))))
        sums = np.stack([dense(of) for of in counts])
        one, other = np.triu_indices(len(names), 1)
        p = paired_test([[mean_of(*sums[:, [i]]) for i in range(len(names))]], Swaps(n, resamples, seed)).p
        apart = functools.partial(_differences, one=one, other=other)
        found = bootstrap(
            ClusterSums(sums, apart), Resampler(n, resamples, seed), bounds=(-1.0, 1.0), stretch=False
        )
        table = {"first": names[one], "second": names[other], "aspect": aspect, **found.row("difference")}
        rows.append(pd.DataFrame({**table, "p": p[one, other], "p_holm": holm(p[one, other])}))
    frame = pd.concat(rows, ignore_index=True)
    columns = (
        *(Column("first", "Judge"), Column("second", "Other judge")),
        *([Column("aspect", "Aspect")] if frame["aspect"].any() else []),
        Column("difference", "Difference of accuracy", "share", "difference_low", "difference_high"),
        *(Column("p", "p", "p"), Column("p_holm", "p, Holm", "p")),
    )
    note = "Paired permutation tests: the verdicts of two judges change places in random clusters."
    return Sheet("judges", "Judges against each other", frame, columns, (note,))


def systems_sheet(known: pd.DataFrame, orders: Orders) -> Sheet:
    """Count wins, losses and ties of every two systems, by each judge and by the gold preferences.

    ``known`` is as of `judges_sheet`.
    """
    by = ["evaluator", "aspect", FIRST, SECOND]
    pairs = known.drop_duplicates([*pair_keys(known), *by[1:]])
    every = pd.concat([pairs.assign(evaluator="gold", code=pairs["gold"]), votes_of(known, orders)])
    every["evaluator"] = every["evaluator"].astype(str)
    counts = {name: every["code"] == code for code, name in enumerate(_COUNTS)}
    frame = every.assign(**counts).groupby(by, sort=False, observed=True)[[*_COUNTS]].sum().reset_index()
    columns = (
        Column("evaluator", "Evaluator"),
        *([Column("aspect", "Aspect")] if frame["aspect"].any() else []),
        *(Column(FIRST, "System"), Column(SECOND, "Other system")),
        *(Column(name, name.capitalize(), "count") for name in ("won", "lost", "ties", "missing")),
    )
    return Sheet("systems", "Wins, losses and ties of systems", frame, columns)
