"""Draws with known probabilities are unbiased, and looking after each label stops falsely in at most 5 %."""

from __future__ import annotations

import numpy as np
import pytest

from metaeval.stats.resampling.sequential import chances, confidence_sequence, drawn


def _draws(rng: np.random.Generator, seed: int, gap: float, n: int = 600) -> tuple[np.ndarray, float]:
    """Return what 2,000 draws give for a difference of two halves of units, and the difference itself."""
    half = np.repeat([1.0, -1.0], n // 2)
    y = np.clip(np.rint(rng.normal(3 + gap * (half > 0), 1)), 1, 5)
    doubt = rng.random(n)
    f = np.clip(y + 1 + doubt * rng.normal(0, 1.5, n), 1, 5)
    w = half / (n // 2)
    y[half > 0] += gap - w @ y  # exactly the gap
    p = chances(w, doubt)
    at = drawn(p, 2_000, seed=seed)
    return w @ f + w[at] * (y - f)[at] / p[at], float(w @ y)


def test_the_estimate_is_unbiased_though_doubtful_units_are_drawn_more_often() -> None:
    values, truth = _draws(np.random.default_rng(1), 1, 0.3, n=100)
    assert abs(values.mean() - truth) < 4 * values.std() / np.sqrt(len(values))


def test_a_clear_difference_stops_and_nothing_stops_before_thirty() -> None:
    values, _ = _draws(np.random.default_rng(2), 2, 1.0)
    assert 30 <= confidence_sequence(values).stop(0) < 300
    assert confidence_sequence(np.ones(29)).stop(0) == 0


@pytest.mark.slow
def test_false_stops() -> None:
    rng = np.random.default_rng(3)
    stops = [confidence_sequence(_draws(rng, k, 0.0)[0]).stop(0) > 0 for k in range(1000)]
    assert np.mean(stops) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 1000)
