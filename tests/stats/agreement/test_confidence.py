"""Calibration error, Brier score and conformal half-widths, against their definitions and by simulation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm, rankdata

from metaeval.stats.agreement.confidence import conformal, half_width, reliability
from metaeval.stats.resampling.bootstrap import Resampler
from metaeval.stats.weighted.sums import Clusters


def studied(rng, users=40, units=12, over=0.0, own=1.0):
    """Return confidences, and whether answers are right, as often as is said less ``over``."""
    user = np.repeat(np.arange(users), units)
    said = np.round(rng.uniform(0.3, 1, user.size), 2)
    luck = (own * rng.normal(size=users)[user] + rng.normal(size=user.size)) / np.hypot(1, own)
    return said, (norm.cdf(luck) < said - over).astype(float), Clusters(user, users)


def test_they_are_as_defined() -> None:
    said, right, users = studied(np.random.default_rng(0), over=0.2)
    found = reliability(said, right, users, Resampler(users.n, 200))
    place = np.minimum((said * 10 + 1e-9).astype(int), 9)
    ece = sum(abs(said[place == b].sum() - right[place == b].sum()) for b in range(10)) / len(said)
    ranks = rankdata(said)
    won = ranks[right == 1].sum() - right.sum() * (right.sum() + 1) / 2
    assert found.auroc.value == pytest.approx(won / (right.sum() * (1 - right).sum()))
    assert found.brier.value == pytest.approx(np.mean((said - right) ** 2))
    assert found.gap.value == pytest.approx(said.mean() - right.mean())
    assert found.ece.low < found.ece.value <= ece <= found.ece.high
    assert found.ece.value == pytest.approx(ece, abs=0.02)
    assert found.p < 0.02
    assert found.counts.sum() == len(said)
    assert found.right.value[5] == pytest.approx(right[place == 5].mean())


def test_a_judge_that_is_always_right_and_sure() -> None:
    found = reliability(np.ones(20), np.ones(20), Clusters(np.arange(20), 20), Resampler(20, 100))
    assert (found.ece.value, found.brier.value, found.p) == (0, 0, 1)
    assert np.isnan(found.auroc.value)


def test_the_half_width_takes_each_user_once_and_needs_nine() -> None:
    errors, user = np.arange(1.0, 10.0), np.arange(9)
    assert half_width(errors, user, 9) == 9.0  # the ninth of ten, with infinity
    assert half_width(errors[:8], user[:8], 8) == np.inf
    # A user with many units counts as much as one with few.
    many = np.concatenate([errors, np.full(100, 1.0)])
    assert half_width(many, np.concatenate([user, np.zeros(100, dtype=int)]), 9) == 9.0
    assert np.isnan(conformal(errors[:8], Clusters(user[:8], 8), Resampler(8, 50)).coverage.value)


@pytest.mark.slow
def test_calibrated_confidence_is_seldom_refused_and_the_error_is_covered() -> None:
    rng, studies = np.random.default_rng(1), 400
    for over in (0.0, 0.1):
        wrong = held = 0
        for i in range(studies):
            said, right, users = studied(rng, 60, over=over)
            found = reliability(said, right, users, Resampler(users.n, 300, i))
            wrong += found.p <= 0.05
            held += found.ece.low <= over <= found.ece.high
        assert held / studies > 0.92
        assert over or wrong / studies < 0.08


@pytest.mark.slow
@pytest.mark.parametrize(("users", "units", "own"), [(100, 12, 1.0), (100, 12, 0.3), (200, 5, 2.0)])
def test_a_rating_of_a_new_user_lies_within(users: int, units: int, own: float) -> None:
    rng, studies = np.random.default_rng(0), 3000
    user = np.repeat(np.arange(users + 1), units)
    known = user < users
    held, measured = np.zeros(studies), []
    for i in range(studies):
        errors = np.abs(own * rng.normal(size=users + 1)[user] + rng.normal(size=user.size))
        held[i] = (errors[~known] <= half_width(errors[known], user[known], users)).mean()
        if i < 100:
            clusters = Clusters(user[known], users)
            measured.append(conformal(errors[known], clusters, Resampler(users, 50)).coverage.value)
    assert held.mean() == pytest.approx(0.9, abs=0.015)
    assert np.mean(measured) == pytest.approx(0.9, abs=0.02)
