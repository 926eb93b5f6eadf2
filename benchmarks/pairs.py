"""Verdicts on pairs: escalated, corrected, planned and gated, and how often what is then said is wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from benchmarks.shares import AT_MOST, COVERS, SIZE, row
from metaeval.stats.agreement.escalation import cascade
from metaeval.stats.weighted.sums import Clusters
from metaeval.trust.correction_samples import sample_of_pairs
from metaeval.trust.escalation import stages_of_pairs
from metaeval.trust.gate.baseline import GateScores
from metaeval.trust.gate.checks import gate
from metaeval.trust.gate.recorded_verdicts import WIN_RATE
from metaeval.trust.gate.rules import EVERY, Rules
from metaeval.trust.label_plan import Planning, plan_for_pairs
from metaeval.trust.verdicts.judged import JudgedPairs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from metaeval.stats.coefficients.tables import Floats

ALPHA, DELTA = 0.1, 0.05
USERS, PAIRS = 400, 5  # pairs of a user
LEAN = 0.6  # logits by which a judge leans to what is shown first
OFF = 0.1  # how far a win rate that a gate should fail, or pass, is from its threshold


def study(
    rng: np.random.Generator,
    users: int,
    labelled: int,
    *,
    own: float,
    graded: bool,
    base: float = 0.0,
    spread: float = 4.0,
) -> tuple[JudgedPairs, Floats]:
    """Draw two systems' pairs, which a judge sees in both orders; some users say what they prefer.

    Returns the pairs, and what all users prefer: 1 where it is ``b``'s text that is second. What users differ
    by is ``own``, ``base`` what ``b`` is better by, ``spread`` how far the texts of pairs are apart; with
    ``graded``, verdicts say how sure they are.
    """
    user = np.repeat(np.arange(users), PAIRS)
    better = rng.normal(base, spread, user.size) + rng.normal(0, own, users)[user]
    prefers = (rng.random(user.size) < 1 / (1 + np.exp(-better))).astype(float)
    seen = better + rng.normal(0, 1, user.size)
    shares = 1 / (1 + np.exp(-(seen + np.array([[LEAN], [-LEAN]]))))
    if not graded:
        shares = (rng.random(shares.shape) < shares).astype(float)
    units = pd.DataFrame({"item_id": np.arange(user.size).astype(str), "first": "b", "second": "c"})
    gold = np.where(user < labelled, prefers, np.nan)
    share, clusters = shares.mean(axis=0)[None], Clusters(user, users)
    pairs = JudgedPairs("", units, ("judge",), share, np.array([2.0]), graded, gold, clusters, "user")
    return pairs, prefers


def missed(studies: int, labelled: int, own: float, *, graded: bool, spread: float = 4.0) -> dict[str, Any]:
    """Return how often verdicts that the judge decides agree with people in less than 1 - alpha."""
    rng, lost, left = np.random.default_rng(labelled), 0, []
    for _ in range(studies):
        pairs, prefers = study(rng, USERS, labelled, own=own, graded=graded, spread=spread)
        stage = stages_of_pairs(pairs)
        if not stage.judges:  # by chance, labels look unlike the rest
            left.append(1.0)
            continue
        found = cascade(stage.confidence, stage.right, stage.clusters, alpha=ALPHA, delta=DELTA)
        decided = np.flatnonzero((found.route == 0) & np.isnan(pairs.gold))
        lost += decided.size > 0 and (pairs.named[0, decided] == prefers[decided]).mean() < 1 - ALPHA
        left.append(float((found.route == 1).mean()))
    said = "shares" if graded else f"words, pairs {spread:g} apart"
    name = f"escalating: verdicts in {said}, {labelled} users with preferences, levels of users {own:g}"
    return row(name, studies, {"missed": lost / studies}, AT_MOST, people=round(float(np.mean(left)), 3))


def covered(studies: int, labelled: int, own: float) -> dict[str, Any]:
    """Return how often the interval of a corrected win rate holds that of very many pairs."""
    rng, hits, widths = np.random.default_rng(labelled), [], []
    truth = study(rng, 200_000, 0, own=own, graded=False, base=0.5)[1].mean()
    for _ in range(studies):
        case = sample_of_pairs(study(rng, 300, labelled, own=own, graded=False, base=0.5)[0])
        whole = case.everything
        found, alone = whole.powered([[1.0]]), whole.labels_alone([[1.0]])
        low, high = (float(end[0]) for end in found.interval())
        hits.append(low <= (truth if case.about == "b" else 1 - truth) <= high)
        widths.append(found.standard_error[0] / alone.standard_error[0])
    name = f"correcting: win rates, {labelled} of 300 users with preferences, levels of users {own:g}"
    narrower = {"narrower by": round(1 - float(np.mean(widths)), 4)}
    return row(name, studies, {"mean": float(np.mean(hits))}, COVERS, **narrower)


def stopped(studies: int, base: float) -> dict[str, Any]:
    """Return how often a plan of labels gives the wrong answer, one looks after each label."""
    rng, wrong, labels = np.random.default_rng(3), 0, []
    for k in range(studies):
        pairs, prefers = study(rng, 60, 60, own=0.5, graded=False, base=base)
        plan = plan_for_pairs(pairs, Planning(better=("b", "c"), seed=k))
        at = plan.units["item_id"].astype(int).to_numpy()
        truth, n = prefers.mean() - 0.5, len(at)
        ratings = prefers[at] - 0.5
        for m in range(30, n + 1, 10):
            answer = plan.answer(np.where(np.arange(n) < m, ratings, np.nan), 0.05)
            if answer.decided:
                wrong += not answer.estimate * truth > 0
                break
        labels.append(m / n)
    name = f"planning: win rates of 300 pairs, one system better by {base:g}"
    return row(name, studies, {"false_stops": wrong / studies}, AT_MOST, labels=float(np.mean(labels)))


def gated(studies: int, users: int, own: float) -> Iterator[dict[str, Any]]:
    """Yield how often a gate passes a win rate that is too low, and fails one that is high enough.

    The true win rate is the judge's on very many pairs. A threshold that is just that may be passed or failed
    in 5 % of studies each; one that is higher by `OFF` should be failed, one that is lower passed.
    """
    rng = np.random.default_rng([users, 4])
    rate = float(study(np.random.default_rng(4), 200_000, 0, own=own, graded=False, base=0.5)[0].share.mean())
    said = {off: dict.fromkeys(("pass", "fail", "inconclusive"), 0.0) for off in (0.0, OFF, -OFF)}
    for _ in range(studies):
        pairs = study(rng, users, 0, own=own, graded=False, base=0.5)[0]
        frame = pairs.units[["item_id"]].assign(aspect=WIN_RATE, score=pairs.share[0], call="", category="")
        frame.insert(0, "user_id", pairs.clusters.of_unit.astype(str))
        scores = GateScores(frame, "judge", {}, (0.0, 1.0), "", "")
        for off, share in said.items():
            share[gate(scores, None, Rules({EVERY: rate + off})).verdict] += 1 / studies
    name = f"{users} users, levels of users {own:g}"
    at, low, high = said.values()
    wrong = {"passes": at["pass"], "fails": at["fail"]}
    yield row(f"gate: a win rate at its threshold, {name}", studies, wrong, SIZE)
    right = {"fails rightly": round(low["fail"], 4), "passes rightly": round(high["pass"], 4)}
    wrong = {"passes": low["pass"], "fails": high["fail"]}
    what = f"gate: a win rate {100 * OFF:g} points below and above its threshold, {name}"
    yield row(what, studies, wrong, AT_MOST, **right)


def run(studies: int, *, quick: bool = False) -> Iterator[dict[str, Any]]:
    """Yield one result after the other."""
    for labelled in (80,) if quick else (80, 200):
        for spread in (5.0, 8.0):  # where both orders agree, 90 and 94 % are right
            yield missed(studies, labelled, 1.0, graded=False, spread=spread)
        for own in (0.0, 1.0):
            yield missed(studies, labelled, own, graded=True)
            yield covered(studies, labelled, own)
    for base in (0.0, 0.5):
        yield stopped(min(studies, 200), base)
    for users in (40,) if quick else (20, 40, 100):
        for own in (0.0, 2.0):
            yield from gated(studies, users, own)
