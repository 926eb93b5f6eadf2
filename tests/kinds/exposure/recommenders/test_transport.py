"""The audit in three outcomes, on planted cases."""

import numpy as np
import pytest

from metaeval.kinds.exposure.recommenders.transport import TransportErrors, audit
from metaeval.stats.resampling.bootstrap import Resampler
from metaeval.stats.resampling.cluster_sums import mean_of

SYSTEMS = np.linspace(-0.5, 0.5, 7)
MARGIN = 0.1


def target(x):
    return 0.3 + 0.4 * x


def means(values, users, noise, seed):
    draw = np.random.default_rng(seed)
    of_users = values[:, None] + noise * draw.normal(size=(len(values), users))
    return mean_of(of_users, np.ones_like(of_users))


def audited(seed, *, shift, users=400, noise=0.1, scores=0.8 * SYSTEMS, few=7, margin=MARGIN):
    """Plant a group whose targets are off the map of the rest by a shift."""
    errors = TransportErrors(
        means(SYSTEMS[:few], users, noise, [seed, 0]),
        means(target(SYSTEMS)[:few], users, noise, [seed, 1]),
        means(scores[:few], users, noise, [seed, 2]),
        means((target(scores) + shift)[:few], users, noise, [seed, 3]),
    )
    return audit(errors, margin, Resampler(users, resamples=300))


@pytest.mark.parametrize(
    ("case", "outcome"),
    [
        ({"shift": 0.0}, "transports"),
        ({"shift": 0.25}, "does not"),
        ({"shift": -0.25}, "does not"),
        ({"shift": 0.0, "users": 20, "noise": 0.5}, "inconclusive"),
        ({"shift": 0.1}, "inconclusive"),
        ({"shift": 0.0, "few": 4}, "inconclusive"),
        ({"shift": 0.0, "scores": SYSTEMS + 2}, "inconclusive"),
    ],
)
def test_planted_cases_are_found(case, outcome):
    found = [audited(seed, **case) for seed in range(6)]
    assert sum(one.outcome == outcome for one in found) >= 5


def test_one_recommender_that_is_off_is_enough_and_is_named():
    shift = np.zeros(7)
    shift[3] = 0.4
    found = audited(0, shift=shift)
    assert found.outcome == "does not"
    assert found.system == 3
    assert found.error == pytest.approx(-0.4, abs=0.05)
    assert found.error_low < found.error < found.error_high < -MARGIN


def test_a_group_beyond_the_range_of_the_map_says_so():
    found = audited(0, shift=0.0, scores=SYSTEMS + 2)
    assert found.n_outside == 7
    assert "outside the range" in found.reason
    assert np.isnan(found.error)


def test_all_intervals_hold_at_once():
    # Nothing is off: in 25 groups, hardly any of seven intervals may lie beyond a margin of nothing.
    outcomes = [audited(seed, shift=0, noise=0.02, margin=1e-9).outcome for seed in range(25)]
    assert outcomes.count("does not") <= 5
