import numpy as np
import pytest

from metaeval.stats.off_policy.overlap import balance, support_of, worst_imbalance


def showings(place, action, p, shape):
    shown, inverse, squares = np.zeros((3, *shape))
    np.add.at(shown, (place, action), 1)
    np.add.at(inverse, (place, action), 1 / p)
    np.add.at(squares, (place, action), 1 / p**2)
    return lambda mass: support_of(shown, inverse, squares, mass)


def test_mass_on_what_a_place_never_or_hardly_shows():
    place, action = np.array([0, 0, 0, 1, 1]), np.array([0, 0, 1, 2, 2])
    found = showings(place, action, np.full(5, 0.5), (2, 3))
    mass = np.array([[1.5, 0.9, 0.6], [0.2, 0.3, 1.5]])
    of = found(mass)
    assert of.unshown == pytest.approx((0.6 + 0.2 + 0.3) / 5)
    assert of.by_chance == of.error == pytest.approx(0.9 * 2 / 3 / 5)  # the action that is shown once
    assert of.thin == 0
    assert found(mass * 20).thin == pytest.approx((1.5 + 1.5) / 5)


def test_what_chance_leaves_out_is_estimated_without_bias():
    """300 actions, most of them shown now and then: the mass left out, and its estimate, over logs."""
    rng = np.random.default_rng(3)
    p, mass = rng.dirichlet(np.full(300, 0.5)), rng.dirichlet(np.ones(300))
    left, chance = [], []
    for _ in range(400):
        action = rng.choice(300, 500, p=p)
        of = showings(np.zeros(500, int), action, p[action], (1, 300))(500 * mass[None])
        left.append(of.unshown)
        chance.append(of.by_chance)
    assert 0.1 < np.mean(left) < 0.6
    assert np.mean(chance) == pytest.approx(np.mean(left), abs=4 * np.std(chance) / 20)


@pytest.mark.parametrize("factor", [0.5, 1.0, 2.0])
def test_propensities_that_are_off_by_a_factor_misplace_the_policy(factor):
    rng = np.random.default_rng(0)
    p = np.array([0.4, 0.3, 0.2, 0.1])
    action = rng.choice(4, 20_000, p=p)
    logged = np.where(action == 1, p[action] * factor, p[action])
    found = showings(np.zeros(20_000, int), action, logged, (1, 4))
    mass = np.array([[0.1, 0.6, 0.2, 0.1]])
    expected = 0.6 * abs(1 / factor - 1)
    assert found(mass).misplaced == pytest.approx(expected, abs=0.04 * bool(expected))
    assert found(np.array([[0.5, 0.0, 0.4, 0.1]])).misplaced == 0  # the policy does not take it


def test_a_deterministic_log_misplaces_a_policy():
    """Each context shows one action, with propensity 1: none is shown in every round."""
    found = showings(np.zeros(100, int), np.arange(100) % 2, np.ones(100), (1, 2))
    assert found(np.array([[0.5, 0.5]])).misplaced == pytest.approx(0.5)


def test_weights_that_move_the_context_are_found_and_sound_ones_are_not():
    rng = np.random.default_rng(1)
    context = rng.integers(0, 3, 30_000)
    noise = rng.gamma(1.0, size=30_000)
    off, z = worst_imbalance(context, noise)
    assert abs(z) < 4
    assert abs(off) < 0.02
    off, z = worst_imbalance(context, noise * np.where(context == 2, 2.0, 1.0))
    share = 2 / 4 - 1 / 3  # a third of the rounds, with twice the weight
    assert off == pytest.approx(share / np.sqrt(2 / 9), abs=0.02)
    assert z > 20
    assert worst_imbalance(np.zeros(9, int), np.ones(9)) == (0.0, 0.0)


def test_the_distance_of_an_imbalance_from_chance_is_one_of_standard_errors():
    rng = np.random.default_rng(2)
    context = rng.integers(0, 2, 4_000)
    z = [worst_imbalance(context, rng.gamma(1.0, size=4_000))[1] for _ in range(2_000)]
    assert np.sqrt(np.mean(np.square(z))) == pytest.approx(1.0, abs=0.05)


def test_weights_by_the_true_propensities_balance_what_exposure_made_uneven():
    draw = np.random.default_rng(0)
    quality = draw.normal(size=200)
    p = 1 / (1 + np.exp(1 - quality))
    rows = draw.binomial(400, p).astype(float)
    before, after = balance(np.stack([quality, quality * 0], axis=1), rows, rows / p, np.ones(200))
    assert before[0] > 0.3
    assert abs(after[0]) < 0.02
    assert np.isnan(before[1])
