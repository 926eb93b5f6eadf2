"""Weights of the criteria of a judge, fitted to people's labels, with an estimate on held-out users."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import pandas as pd
from pydantic import Field

from metaeval.base.errors import MetaevalError
from metaeval.engine.sheet import Column, Sheet
from metaeval.judging.unit_judge import CRITERION
from metaeval.runs.command import Judges, Printed, Resamples, Seed, Typed, command, judges_of
from metaeval.runs.finished import OpenRun
from metaeval.stats.coefficients.tables import Floats
from metaeval.stats.resampling.bootstrap import Estimate, Resampler, bootstrap
from metaeval.stats.resampling.cluster_sums import ClusterSums, ratio
from metaeval.stats.resampling.significance import FEWEST_CLUSTERS
from metaeval.stats.resampling.weights import held_out

_REFITS = 400  # for the intervals of weights


class WeightOptions(Typed):
    """Whose criteria are weighed, and how it is estimated."""

    judges: Judges = ()
    """Judge whose criteria are weighed.  [default: every one that rates criteria]"""
    folds: Annotated[int, Field(ge=2)] = 5
    """Folds of users, each of which is held out once."""
    repeats: Annotated[int, Field(ge=1)] = 4
    """Random splits into folds."""
    resamples: Resamples = 2_000
    seed: Seed = 0


@dataclass(frozen=True, slots=True, eq=False)
class FittedWeights:
    """Weights of criteria, and what they are worth."""

    criteria: tuple[str, ...]
    weights: Floats
    """Shape (criteria,), from 0, with sum 1: of all users."""
    low: Floats
    high: Floats
    """Percentiles over resamples of users."""
    agreement: Estimate[Floats]
    """With the weights, with equal ones, and their difference: the share of pairs of a user's items with
    different labels whose scores have the order of the labels, a tie for half; on held-out users."""
    in_sample: float
    """That of the weights on the users that they are fitted to."""
    n_units: int


def fit_weights(
    ratings: Floats, truth: Floats, user: Sequence[object], criteria: Sequence[str], how: WeightOptions
) -> FittedWeights:
    """Fit weights of criteria to labels, within users, by least squares with weights of at least 0.

    The weights that are compared are fitted without the users on whom they are (cross-fitting).

    Parameters
    ----------
    ratings
        Shape (units, criteria).
    truth, user
        Shape (units,).

    Raises
    ------
    MetaevalError
        If there are fewer than six users, or no user has different labels.
    """
    _, of_unit = np.unique(np.asarray(user, dtype=str), return_inverse=True)
    n = int(of_unit.max(initial=-1)) + 1
    if n < FEWEST_CLUSTERS:
        raise MetaevalError(
            f"{n} users have labels and criteria; weights are fitted to {FEWEST_CLUSTERS} or more"
        )
    units = [np.flatnonzero(of_unit == u) for u in range(n)]
    grams, moments = _moments(ratings, truth, units)

    def fit(weights: Floats) -> Floats:
        return _least_squares(np.tensordot(weights, grams, 1), weights @ moments)

    equal = np.ones(len(criteria)) / len(criteria)
    summed, pairs = _in_order(ratings @ equal, truth, units)
    if not pairs.any():
        raise MetaevalError("no user has items of different labels, so there is nothing to fit")
    fitted = np.zeros(n)
    for held in held_out(n, folds=how.folds, repeats=how.repeats, seed=how.seed).T:
        of_fold, _ = _in_order(
            ratings @ fit(1 - held), truth, [u for u, h in zip(units, held, strict=True) if h]
        )
        fitted[held > 0] += of_fold / how.repeats
    sums = ClusterSums(np.stack([fitted, summed, fitted - summed, pairs]), lambda s: ratio(s[:3], s[3]))
    every = fit(np.ones(n))
    resampler = Resampler(n, how.resamples, how.seed)
    refits = Resampler(n, _REFITS, how.seed)
    drawn = np.array([fit(w) for w in np.concatenate([*refits.weights()], axis=1).T])
    low, high = np.percentile(drawn, [2.5, 97.5], axis=0)
    in_sample = _in_order(ratings @ every, truth, units)[0].sum() / pairs.sum()
    agreement = bootstrap(sums, resampler, stretch=False)
    return FittedWeights(tuple(criteria), every, low, high, agreement, float(in_sample), len(truth))


def _moments(ratings: Floats, truth: Floats, units: Sequence[Any]) -> tuple[Floats, Floats]:
    """Return XᵀX and Xᵀy of each user, of values less the user's means."""
    grams, moments = [], []
    for at in units:
        x, y = ratings[at] - ratings[at].mean(axis=0), truth[at] - truth[at].mean()
        grams.append(x.T @ x)
        moments.append(x.T @ y)
    return np.array(grams), np.array(moments)


def _least_squares(gram: Floats, moment: Floats) -> Floats:
    """Return the weights from 0 with the least squared error, as shares; equal ones if all are 0.

    The normal equations as a problem of non-negative least squares (Lawson & Hanson 1974), by SciPy.
    """
    from scipy.optimize import nnls

    values, vectors = np.linalg.eigh(gram)
    root = np.sqrt(np.clip(values, 1e-9 * max(values.max(), 1e-12), None))
    found, _ = nnls(root[:, None] * vectors.T, (vectors.T @ moment) / root)
    total = found.sum()
    return np.asarray(found / total if total > 0 else np.ones(len(found)) / len(found))


def _in_order(scores: Floats, truth: Floats, units: Sequence[Any]) -> tuple[Floats, Floats]:
    """Return of each user the pairs in the order of the labels, ties for half, and all with such an order."""
    found = np.zeros((2, len(units)))
    for u, at in enumerate(units):
        apart = np.sign(truth[at][:, None] - truth[at])
        by_score = scores[at][:, None] - scores[at]
        by_score[np.abs(by_score) < 1e-9] = 0  # sums of weights in another order
        found[:, u] = ((1 + np.sign(by_score)) / 2)[apart > 0].sum(), (apart > 0).sum()
    return found[0], found[1]


@command("criteria", rated=True, view="Criteria")
def criteria_of_run(run: OpenRun, how: WeightOptions) -> Printed:
    """Fit weights of a judge's criteria to people's labels in the finished run in the folder RUN.

    Prints each criterion's weight, and how well the weighted sum orders the items of users that the weights
    were not fitted to, beside the plain sum.
    """
    wanted = judges_of(run, how.judges, "weights are of the criteria that a judge rates")
    frame = run.scores.frame
    columns = [str(c) for c in frame.columns if str(c).startswith(CRITERION)]
    aspect = run.record.study.aspects[0]
    keys = [*run.record.data.keys]
    truth = run.truth[run.truth["aspect"] == aspect].dropna(subset=["rating"])[[*keys, "rating"]]
    sheets, first = [], []
    for judge in wanted:
        own = frame[(frame["evaluator"] == judge) & (frame["aspect"] == aspect)]
        rated = [column for column in columns if own[column].notna().any()]
        if not rated:
            continue
        both = own[[*keys, *rated]].dropna().merge(truth, on=keys)
        names = [column.removeprefix(CRITERION) for column in rated]
        values = (both[rated].to_numpy(np.float64), both["rating"].to_numpy(np.float64))
        found = fit_weights(*values, both[run.cluster].tolist(), names, how)
        sheets.append(_sheet(judge, found, run.nouns.get(run.cluster, run.cluster)))
        first.append(_sentence(judge, found))
    if not sheets:
        raise MetaevalError(
            "no judge of the run rated criteria that were kept; run one with criteria, such as "
            "Relevance('mini', criteria='sum')"
        )
    return Printed(sheets, first=first)


def _sentence(judge: str, found: FittedWeights) -> str:
    (fitted, summed, change), low, high = (
        found.agreement.value,
        found.agreement.low[2],
        found.agreement.high[2],
    )
    says = "are better than" if low > 0 else "are worse than" if high < 0 else "cannot be told from"
    return (
        f"{judge}: fitted weights {says} the plain sum, on held-out users: they order {fitted:.1%} of pairs "
        f"as people do, the sum {summed:.1%}; {100 * change:+.1f} points "
        f"[{100 * low:+.1f}, {100 * high:+.1f}]."
    )


def _sheet(judge: str, found: FittedWeights, cluster: str) -> Sheet:
    columns = {"criterion": found.criteria, "weight": found.weights, "low": found.low, "high": found.high}
    numbers = ", ".join(f"{weight:.3f}" for weight in found.weights)
    return Sheet(
        f"criteria-{judge}",
        f"Weights of the criteria of {judge}",
        pd.DataFrame(columns),
        (Column("criterion", "Criterion"), Column("weight", "Weight", "decimal", "low", "high")),
        (
            (
                f"Fitted by least squares within each {cluster}, from 0, with sum 1, to {found.n_units:,} "
                f"labels of {found.agreement.n:,}; intervals over resamples."
            ),
            f"On those that they are fitted to, they order {found.in_sample:.1%} of pairs as people do.",
            f"Use them with weights=[{numbers}]: no reply is asked again.",
        ),
    )
