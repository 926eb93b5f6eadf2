from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from metaeval.stats.resampling.bootstrap import Resampler
from metaeval.trust.bias.scale_use import scale_use
from tests.trust.simulated_studies import drawn


def test_leniency_and_spread_are_plain_moments() -> None:
    data = drawn(1)
    found = scale_use(data, "j", Resampler(30, resamples=100))
    assert found is not None
    scores, truth = data.scores[0], data.truth
    assert found.difference.value == pytest.approx([*(scores - truth).mean(axis=1), (scores - truth).mean()])
    ratios = scores.std(axis=1) / truth.std(axis=1)
    assert found.spread.value == pytest.approx([*ratios, ratios.mean()])


def test_a_lenient_judge_that_keeps_to_the_middle() -> None:
    data = drawn(2)
    middling = np.clip(np.rint(3.4 + 0.3 * (data.truth - 3)), 1, 5)[None]
    found = scale_use(replace(data, scores=middling), "j", Resampler(30, resamples=500))
    assert found is not None
    assert found.difference.p[-1] < 0.01
    assert found.spread.high[-1] < 1
    assert found.spread.p[-1] < 0.01
    assert found.entropy.high[-1] < 1
    assert found.entropy.p[-1] < 0.01
    assert found.levels.max() < found.levels_of_truth.min()


def test_a_judge_that_is_the_truth_has_neither() -> None:
    data = drawn(3)
    same = replace(data, scores=data.truth[None])
    found = scale_use(same, "j", Resampler(30, resamples=200))
    assert found.difference.value == pytest.approx(0)
    assert found.spread.value == pytest.approx(1)
    assert found.entropy.value == pytest.approx(1)
    assert set(found.spread.p) == set(found.entropy.p) == {1}


def test_entropy_levels_and_middle_are_plain_counts() -> None:
    data = drawn(4)
    found = scale_use(data, "j", Resampler(30, resamples=50))
    assert found is not None

    def entropy(values: np.ndarray) -> float:
        share = np.unique(values, return_counts=True)[1] / len(values)
        return float(-(share * np.log2(share)).sum())

    assert found.entropy.value[0] == pytest.approx(entropy(data.scores[0, 0]) / entropy(data.truth[0]))
    assert found.levels[0] == len(np.unique(data.scores[0, 0]))
    assert found.middle.value[0] == pytest.approx((data.scores[0, 0] == 3).mean())
    assert found.middle_of_truth.value[0] == pytest.approx((data.truth[0] == 3).mean())


def test_scores_that_are_no_ratings_are_left_out() -> None:
    data = replace(drawn(6), rates=frozenset())
    assert scale_use(data, "j", Resampler(30, resamples=9)) is None


def test_a_judge_of_whole_points_is_not_blamed_for_the_half_points_of_people() -> None:
    data = drawn(3)
    halves = np.minimum(data.truth + np.where(np.arange(data.truth.shape[1]) % 2, 0.5, 0.0), 5)
    whole = np.floor(halves + 0.5)
    scale = replace(data.scale, integer=False)
    data = replace(data, truth=halves, scores=whole[None], scale=scale)
    found = scale_use(data, "j", Resampler(30, resamples=200))
    assert found.entropy.value == pytest.approx(1)
    assert [*found.levels] == [*found.levels_of_truth]
