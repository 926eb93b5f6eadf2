"""Draws with known probabilities are unbiased, and looking after each label stops falsely in at most 5 %."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from metaeval.stats.resampling.significance import chances, confidence_sequence, drawn


def _study(rng: np.random.Generator, gap: float, n: int = 600) -> tuple[Any, ...]:
    """Return weights, scores, ratings and probabilities; the two halves of the units differ by the gap."""
    half = np.repeat([1.0, -1.0], n // 2)
    y = np.clip(np.rint(rng.normal(3 + gap * (half > 0), 1)), 1, 5)
    doubt = rng.random(n)
    f = np.clip(y + 1 + (half > 0) + doubt * rng.normal(0, 1.5, n), 1, 6)
    w = half / (n // 2)
    y[half > 0] += gap - w @ y  # exactly the gap
    return w, f, y, chances(w, doubt)


def test_each_draw_is_unbiased_given_those_before_it() -> None:
    """All orders of four units, each with its probability: the mean of each Z is the value."""
    w, f, y = np.array([0.5, 0.5, -0.5, -0.5]), np.array([1.0, 2, 3, 5]), np.array([2.0, 5, 1, 4])
    p = np.array([0.4, 0.3, 0.2, 0.1])
    expected = np.zeros(4)
    for order in itertools.permutations(range(4)):
        left, chance = 1.0, 1.0
        for i in order:
            chance *= p[i] / left
            left -= p[i]
        # Each Z is found from the weighted means so far, whose weights are 1 / V.
        found = confidence_sequence(w, f, y, p, np.array(order)).value
        expected += chance * found
    np.testing.assert_allclose(expected[[0, 3]], w @ y)


def test_units_are_drawn_with_their_part_of_what_is_left() -> None:
    p = np.array([0.5, 0.3, 0.2])
    orders = [tuple(drawn(p, seed=k)) for k in range(4000)]
    first = np.bincount([o[0] for o in orders], minlength=3) / 4000
    np.testing.assert_allclose(first, p, atol=0.03)
    after = [o[1] for o in orders if o[0] == 0]
    assert np.mean(np.array(after) == 1) == pytest.approx(0.6, abs=0.04)


def test_all_labels_give_the_value_and_a_skipped_unit_keeps_its_score() -> None:
    w, f, y, p = _study(np.random.default_rng(1), 0.3, 60)
    order = drawn(p)
    found = confidence_sequence(w, f, y, p, order)
    assert found.value[-1] == pytest.approx(0.3)
    assert found.low[-1] == found.high[-1]
    some = np.where(np.arange(60) % 3, y, np.nan)
    expected = w @ np.where(np.isnan(some), f, some)
    assert confidence_sequence(w, f, some, p, order).value[-1] == pytest.approx(expected)


def test_a_clear_difference_stops_and_nothing_stops_before_thirty() -> None:
    w, f, y, p = _study(np.random.default_rng(2), 1.0)
    order = drawn(p)
    assert 30 <= confidence_sequence(w, f, y, p, order).stop(0) < 200
    assert confidence_sequence(w, f, y, p, order[:29]).stop(0) == 0


@pytest.mark.slow
@pytest.mark.parametrize("n", [60, 600])
def test_false_stops(n: int) -> None:
    rng, stops = np.random.default_rng(3), 0
    for k in range(1000):
        w, f, y, p = _study(rng, 0.0, n)
        stops += confidence_sequence(w, f, y, p, drawn(p, seed=k)).stop(0) > 0
    assert stops / 1000 <= 0.05
