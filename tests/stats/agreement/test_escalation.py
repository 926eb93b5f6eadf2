"""The guarantee of a cascade, on simulated users who differ in whom the judges agree with."""

from __future__ import annotations

import numpy as np
import pytest

from metaeval.stats.agreement.escalation import cascade, p_of_agreement, routed
from metaeval.stats.weighted.sums import Clusters

PER = 10


def _judges(rng: np.random.Generator, users: int, own: float) -> tuple[np.ndarray, np.ndarray, Clusters]:
    """Return confidence and agreement of a cheap and a strong judge; users differ by ``own``, in logits."""
    who = np.repeat(np.arange(users), PER)
    sure = rng.normal(0, 1, (2, len(who)))
    logit = np.array([[0.7], [1.7]]) + 1.5 * sure + rng.normal(0, own, users)[who]
    return sure, (rng.random(sure.shape) < 1 / (1 + np.exp(-logit))).astype(float), Clusters(who, users)


def test_a_cascade_reaches_the_target_and_hands_the_rest_on() -> None:
    sure, right, clusters = _judges(np.random.default_rng(1), 300, 0.5)
    found = cascade(sure, right, clusters, costs=np.array([1.0, 10.0]))
    counts = np.bincount(found.route, minlength=3) / len(found.route)
    assert (counts > 0.05).sum() >= 2
    assert 0 < counts[2] < 0.8
    decided = found.route < 2
    assert right[found.route[decided], np.flatnonzero(decided)].mean() >= 0.9


def test_noise_decides_nothing_and_is_skipped() -> None:
    sure, right, clusters = _judges(np.random.default_rng(2), 300, 0.5)
    right[0] = np.random.default_rng(3).random(len(clusters.of_unit)) < 0.3
    found = cascade(sure, right, clusters)
    assert found.first == 1
    assert (found.route == 1).any()
    alone = cascade(sure[:1], right[:1], clusters)
    assert alone.share == 0
    assert (alone.route == 1).all()


def test_few_clusters_without_an_error_prove_nothing() -> None:
    few = Clusters(np.repeat(np.arange(8), PER), 8)
    assert p_of_agreement(np.ones(80), few, 0.9) > 0.05
    many = Clusters(np.repeat(np.arange(80), PER), 80)
    assert p_of_agreement(np.ones(800), many, 0.9) < 0.05


def test_a_missing_confidence_hands_on() -> None:
    assert routed(np.array([[0.1, np.inf], [0.1, 0.1]]), 0.5).tolist() == [0, 1]
    assert routed(np.array([[0.1, np.inf], [0.1, np.inf]]), 0.5, 1).tolist() == [1, 2]


@pytest.mark.slow
@pytest.mark.parametrize("own", [0.0, 1.0])
def test_the_target_is_held_in_a_thousand_splits(own: float) -> None:
    rng, missed = np.random.default_rng(4), 0
    sure, right, everyone = _judges(rng, 2000, own)
    for _ in range(1000):
        labelled = np.isin(everyone.of_unit, rng.choice(2000, 80, replace=False))
        found = cascade(sure, np.where(labelled, right, np.nan), everyone)
        decided = np.flatnonzero((found.route < 2) & ~labelled)
        missed += decided.size > 0 and right[found.route[decided], decided].mean() < 0.9
    assert missed <= 50 + 3 * np.sqrt(1000 * 0.05 * 0.95)
