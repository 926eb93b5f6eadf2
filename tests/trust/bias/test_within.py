from __future__ import annotations

import numpy as np
import pytest

from metaeval.trust.bias.given_truth import Within

USERS = 8


@pytest.fixture
def units() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A response, two columns and the users of 60 units."""
    rng = np.random.default_rng(3)
    user = rng.integers(0, USERS, 60)
    columns = np.stack([rng.normal(5, 2, 60), rng.normal(0, 1, 60) + user])
    response = 100 + 0.5 * columns[0] - columns[1] + 3 * user + rng.normal(0, 1, 60)
    return response, columns, user


def by_dummies(
    response: np.ndarray,
    columns: np.ndarray,
    user: np.ndarray,
    times: np.ndarray,
    z: np.ndarray | None = None,
) -> np.ndarray:
    """Fit with a dummy a user; a user who is drawn twice is two users. With ``z``, by instruments."""
    rows, groups = [], []
    for u, n in enumerate(times.astype(int)):
        for copy in range(n):
            rows.append(np.flatnonzero(user == u))
            groups += [(u, copy)] * int((user == u).sum())
    at = np.concatenate(rows)
    _, code = np.unique(groups, axis=0, return_inverse=True)
    dummies = np.eye(code.max() + 1)[code]
    design = np.column_stack([columns.T[at], dummies])
    left = design if z is None else np.column_stack([z.T[at], dummies])
    return np.asarray(np.linalg.solve(left.T @ design, left.T @ response[at]))[: len(columns)]


@pytest.mark.parametrize("times", [np.ones(USERS), np.array([2, 0, 1, 1, 3, 1, 0, 1.0])])
def test_it_is_the_regression_with_a_dummy_a_user(units, times: np.ndarray) -> None:
    response, columns, user = units
    expected = by_dummies(response, columns, user, times)
    for ordered, coefficient in ((columns, expected[0]), (columns[::-1], expected[1])):
        fit = Within.of(response, ordered, user, USERS, effects=user)
        assert fit.at(times[:, None])[0, 0] == pytest.approx(coefficient)


def test_an_instrument_is_two_stage_least_squares(units) -> None:
    response, columns, user = units
    noisy = np.stack([columns[0], columns[1] + np.random.default_rng(4).normal(0, 1, 60)])
    fit = Within.of(response, columns, user, USERS, effects=user, instruments=noisy)
    times = np.array([1, 2, 0, 1, 1, 1, 2, 1.0])
    expected = by_dummies(response, columns, user, times, noisy)
    assert fit.at(times[:, None])[0, 0] == pytest.approx(expected[0])
    assert fit.contributions().sum() == pytest.approx(fit.at(np.ones((USERS, 1)))[0, 0])


def test_what_cannot_be_told_is_not_a_number(units) -> None:
    response, columns, user = units
    everybody = np.ones((USERS, 1))
    same = Within.of(response, np.stack([columns[0], 2 * columns[0]]), user, USERS, effects=user)
    assert np.isnan(same.at(everybody)).all()
    of_user = Within.of(response, np.stack([user * 1.0, columns[0]]), user, USERS, effects=user)
    assert np.isnan(of_user.at(everybody)).all()
    assert np.isnan(of_user.contributions()).all()
    # Another column that is constant is in nobody's way.
    alone = Within.of(response, columns[:1], user, USERS, effects=user)
    beside = Within.of(response, np.stack([columns[0], user * 1.0]), user, USERS, effects=user)
    assert beside.at(everybody) == pytest.approx(alone.at(everybody))
    nobody = Within.of(response[:0], columns[:, :0], user[:0], USERS, effects=user[:0])
    assert np.isnan(nobody.at(everybody)).all()
