"""Coverage of intervals, and size of tests, of what is said on whether a judge is to be trusted.

Users have levels of their own. What is estimated is known, or is that of very many users.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from benchmarks.shares import COVERS, SIZE, row
from metaeval.engine.alignment.policy import Policy
from metaeval.engine.alignment.prepared import prepare
from metaeval.stats.agreement.raters import KAPPAS, LabelAgreement
from metaeval.stats.resampling.bootstrap import Resampler, bootstrap
from metaeval.stats.resampling.cluster_sums import mean_of
from metaeval.stats.resampling.weights import one_thread
from metaeval.stats.weighted.sums import Clusters
from metaeval.trust.bias.bias import measured
from metaeval.trust.gate.rules import cluster_mean
from metaeval.trust.panel_gain import Fitting, panel_gains
from metaeval.trust.verdicts.agreement import shares_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from metaeval.stats.coefficients.tables import Floats, Ints

UNITS = 12  # of a user
LABELS = 5
RESAMPLES = 999
_MANY = 40_000  # users of whom nothing is uncertain


def labelled(rng: np.random.Generator, users: int, judge: float = 1.0) -> tuple[Ints, Ints, Ints]:
    """Return labels of a judge and of people, 0 to 4, and the user of each unit."""
    user = np.repeat(np.arange(users), UNITS)
    both = rng.normal(size=len(user)) + 0.5 * rng.normal(size=users)[user]
    found = []
    for noise in (judge, 0.7):
        value = both + noise * rng.normal(size=len(user)) + 0.3 * rng.normal(size=users)[user]
        found.append(np.clip(np.rint(2 + value), 0, LABELS - 1).astype(np.int64))
    return found[0], found[1], user


@cache
def agreement_of_many() -> Floats:
    """Return what is estimated: every measure of `LabelAgreement`, of very many users."""
    x, y, user = labelled(np.random.default_rng(0), _MANY)
    return LabelAgreement.of(x, y, LABELS, Clusters(user, _MANY)).at(np.ones((_MANY, 1)))[:, 0]


@one_thread()
def agreement(studies: int, users: int) -> dict[str, Any]:
    """Return how often intervals of kappa and alpha hold, as `calibrate` and `gate` print them."""
    rng = np.random.default_rng(users)
    hits = np.zeros(len(agreement_of_many()))
    names = (*KAPPAS, "alpha", *(f"cut {c}" for c in range(1, LABELS)))
    for i in range(studies):
        x, y, user = labelled(rng, users)
        both = LabelAgreement.of(x, y, LABELS, Clusters(user, users))
        found = bootstrap(both, Resampler(users, RESAMPLES, i), bounds=(-1.0, 1.0))
        hits += (found.low <= agreement_of_many()) & (agreement_of_many() <= found.high)
    shares = dict(zip(names, (hits / studies).tolist(), strict=True))
    return row(f"calibration: kappa and alpha of labels, {users} users", studies, shares, COVERS)


def verdicts(studies: int, users: int, p: float) -> dict[str, Any]:
    """Return how often intervals of shares of verdicts hold; users prefer one side more or less."""
    rng = np.random.default_rng([users, int(100 * p)])
    hits = 0
    user = np.repeat(np.arange(users), UNITS)
    for i in range(studies):
        won = rng.random(len(user)) < rng.beta(8 * p, 8 * (1 - p), users)[user]
        pairs = pd.DataFrame({"user_id": user, "first": "a"})
        (found,) = shares_of(pairs, won[:, None], np.ones((len(won), 1)), resamples=RESAMPLES, seed=i)
        hits += int(found.low <= p <= found.high)
    what = f"shares of verdicts (accuracy, shown first, consistency), {users} users, {p:g}"
    return row(what, studies, {"share": hits / studies}, COVERS)


def biases(studies: int, users: int) -> Iterator[dict[str, Any]]:
    """Yield coverage and size of a mean shift of a judge's scores, tested by signs of users."""
    rng = np.random.default_rng([users, 9])
    hits = found = 0
    for i in range(studies):
        shift = rng.normal(size=(1, users)) + rng.normal(size=(1, users)) / np.sqrt(UNITS)
        numbers = measured(mean_of(shift, np.ones_like(shift)), Resampler(users, RESAMPLES, i), shift / users)
        hits += int(numbers.low[0] <= 0 <= numbers.high[0])
        found += int(numbers.p[0] <= 0.05)
    yield row(f"biases: mean shift, {users} users", studies, {"shift": hits / studies}, COVERS)
    share = {"false_positives": found / studies}
    yield row(f"biases: test of no shift, {users} users", studies, share, SIZE)


def gate(studies: int, users: int) -> Iterator[dict[str, Any]]:
    """Yield coverage of the gate's bounds, and how often it passes what is just not good enough."""
    rng = np.random.default_rng([users, 10])
    hits = passed = 0
    for _ in range(studies):
        units = 1 + rng.poisson(UNITS - 1, users)
        user = np.repeat(np.arange(users), units)
        score = np.clip(3 + 0.5 * rng.normal(size=users)[user] + rng.normal(size=len(user)), 1, 5)
        mean = cluster_mean(score, user, least=1, most=5)
        low, high = mean.ends(0.025)
        hits += int(low <= 3 <= high)
        passed += int(mean.p_above(3) <= 0.05)
    yield row(f"gate: bounds of a mean, {users} users", studies, {"mean": hits / studies}, COVERS)
    share = {"false_positives": passed / studies}
    yield row(f"gate: a mean at its threshold passes, {users} users", studies, share, SIZE)


_NOISES = (0.8, 1.2, 1.5)


def members(rng: np.random.Generator, users: int) -> tuple[Floats, Floats, Ints]:
    """Return scores of three judges, shape (3, n), ratings, and users."""
    user = np.repeat(np.arange(users), UNITS)
    signal = rng.normal(size=len(user))
    y = signal + rng.normal(size=len(user)) + 0.5 * rng.normal(size=users)[user]
    x = np.stack([signal + noise * rng.normal(size=len(user)) for noise in _NOISES])
    return x, y, user


@one_thread()
def panel(studies: int, users: int) -> dict[str, Any]:
    """Return how often intervals of what a panel gains over its best member hold."""
    x, y, user = members(np.random.default_rng(0), _MANY)
    of_means = np.corrcoef(x.mean(axis=0), y)[0, 1], np.corrcoef(np.median(x, axis=0), y)[0, 1]
    truth = np.array(of_means) - np.corrcoef(x[0], y)[0, 1]
    rng = np.random.default_rng([users, 11])
    x, y, user = members(rng, users)
    place = np.arange(len(user), dtype=np.float64)
    unit = pd.DataFrame({"user_id": user.astype(str), "item_id": place.astype(int).astype(str)})
    scores = pd.concat(
        [unit.assign(aspect="fit", evaluator=f"judge {k}", score=place) for k in range(len(x))]
    )
    policy = Policy.of(["dataset"], ["pearson"], None, "skip", "common")
    aligned = prepare(scores, unit.assign(aspect="fit", rating=place), policy)
    order = aligned.truth[0].astype(np.int64)
    hits = np.zeros(2)
    for i in range(studies):
        x, y, _ = members(rng, users)
        data = replace(aligned, truth=y[order][None], scores=x[:, order][:, None])
        gains = panel_gains(data, Fitting(resamples=RESAMPLES, seed=i))[:2]
        hits += [g.ci_low <= t <= g.ci_high for g, t in zip(gains, truth, strict=True)]
    shares = dict(zip(("mean", "median"), (hits / studies).tolist(), strict=True))
    return row(f"panel: gain over the best member, {users} users", studies, shares, COVERS)


def run(studies: int, *, quick: bool = False) -> Iterator[dict[str, Any]]:
    """Yield one result after the other."""
    for users in (40,) if quick else (20, 40, 100):
        yield agreement(studies, users)
        for p in (0.5, 0.85):
            yield verdicts(studies, users, p)
        yield from biases(studies, users)
        yield from gate(studies, users)
        yield panel(studies, users)
