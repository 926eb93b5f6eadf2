"""Numbers with intervals from weights that are drawn once."""

from __future__ import annotations

import numpy as np
import pytest

from metaeval.engine.intervals import Bootstrap
from metaeval.stats.resampling.weights import Resamples, expanded
from metaeval.trust.calibration import drawing
from metaeval.trust.calibration.drawing import Draws


class Means:
    """The weighted mean of one value a cluster; NaN under no weight."""

    def __init__(self, values):
        self.values = np.asarray(values, dtype=float)

    def at(self, weights):
        return (self.values @ weights / weights.sum(axis=0))[None]


def test_intervals_are_percentiles_of_the_resamples() -> None:
    values = 7 + np.random.default_rng(0).normal(0, 3, 30)
    wanted = Bootstrap(resamples=500, seed=3)
    (found,) = Draws(wanted).numbers(Means(values), 30)
    weights = np.concatenate(list(Resamples(30, 500, 3).blocks()), axis=1)
    tail = (1 - expanded(0.95, 30)) / 2
    low, high = np.quantile(values @ weights / 30, [tail, 1 - tail])
    assert found == pytest.approx((values.mean(), low, high))
    assert found.low > 1  # a number is not cut off at 1, as a coefficient is
    (cut,) = Draws(wanted).coefficients(Means(values), 30)
    assert (cut.low, cut.high) == (1, 1)


def test_what_is_kept_and_what_is_drawn_again_is_the_same(monkeypatch) -> None:
    values = Means(np.random.default_rng(1).normal(0, 0.1, 40))
    draws = Draws(Bootstrap(resamples=300))
    first = draws.coefficients(values, 40)
    assert draws.coefficients(values, 40) == first
    monkeypatch.setattr(drawing, "_KEPT", 0)
    assert Draws(Bootstrap(resamples=300)).coefficients(values, 40) == first


def test_one_cluster_has_no_interval() -> None:
    (found,) = Draws(Bootstrap(resamples=20)).numbers(Means([2.0]), 1)
    assert found.estimate == 2
    assert np.isnan([found.low, found.high]).all()
