from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from metaeval.analysis.agreement.distributions import edges_of
from metaeval.base.records import Scale
from metaeval.stats.resampling.bootstrap import Resampler
from metaeval.trust.bias.scale_use import leniency, range_use
from tests.trust.simulated_studies import drawn


def test_leniency_and_spread_are_plain_moments() -> None:
    data = drawn(1)
    found = leniency(data, "j", Resampler(30, resamples=100))
    assert found is not None
    scores, truth = data.scores[0], data.truth
    assert found.difference.value == pytest.approx([*(scores - truth).mean(axis=1), (scores - truth).mean()])
    ratios = scores.std(axis=1) / truth.std(axis=1)
    assert found.spread.value == pytest.approx([*ratios, ratios.mean()])


def test_what_is_missing_does_not_count() -> None:
    data = drawn(1)
    scores = data.scores.copy()
    scores[0, 0, ::3] = np.nan
    found = leniency(replace(data, scores=scores), "j", Resampler(30, resamples=50))
    assert found is not None
    there = ~np.isnan(scores[0, 0])
    assert found.n_units[0] == there.sum()
    assert found.spread.value[0] == pytest.approx(scores[0, 0, there].std() / data.truth[0, there].std())


def test_a_lenient_judge_that_keeps_to_the_middle() -> None:
    data = drawn(2)
    middling = np.clip(np.rint(3.4 + 0.3 * (data.truth - 3)), 1, 5)[None]
    found = leniency(replace(data, scores=middling), "j", Resampler(30, resamples=500))
    used = range_use(replace(data, scores=middling), "j", Resampler(30, resamples=500))
    assert found is not None
    assert used is not None
    assert found.difference.p[-1] < 0.01
    assert found.spread.high[-1] < 1
    assert found.spread.p[-1] < 0.01
    assert used.entropy.high[-1] < 1
    assert used.entropy.p[-1] < 0.01
    assert used.levels.max() < used.levels_of_truth.min()


def test_a_judge_that_is_the_truth_has_neither() -> None:
    data = drawn(3)
    same = replace(data, scores=data.truth[None])
    found, used = (f(same, "j", Resampler(30, resamples=200)) for f in (leniency, range_use))
    assert found.difference.value == pytest.approx(0)
    assert found.spread.value == pytest.approx(1)
    assert used.entropy.value == pytest.approx(1)
    assert set(found.spread.p) == set(used.entropy.p) == {1}


def test_entropy_levels_and_middle_are_plain_counts() -> None:
    data = drawn(4)
    used = range_use(data, "j", Resampler(30, resamples=50))
    assert used is not None

    def entropy(values: np.ndarray) -> float:
        share = np.unique(values, return_counts=True)[1] / len(values)
        return float(-(share * np.log2(share)).sum())

    assert used.entropy.value[0] == pytest.approx(entropy(data.scores[0, 0]) / entropy(data.truth[0]))
    assert used.levels[0] == len(np.unique(data.scores[0, 0]))
    assert used.middle.value[0] == pytest.approx((data.scores[0, 0] == 3).mean())
    assert used.middle_of_truth.value[0] == pytest.approx((data.truth[0] == 3).mean())


def test_the_middle_of_an_even_scale_is_two_levels() -> None:
    data = replace(drawn(5), scale=Scale(1, 4))
    scores = np.clip(data.scores, 1, 4)
    used = range_use(
        replace(data, scores=scores, truth=np.clip(data.truth, 1, 4)), "j", Resampler(30, resamples=9)
    )
    assert used is not None
    assert used.middle.value[0] == pytest.approx(np.isin(scores[0, 0], (2, 3)).mean())


@pytest.mark.parametrize(
    ("scale", "levels"), [(Scale(1, 5), 5), (Scale(0, 100), 10), (Scale(0, 1, integer=False), 10)]
)
def test_levels_of_a_scale(scale: Scale, levels: int) -> None:
    assert len(edges_of(scale)) == levels + 1


def test_scores_that_are_no_ratings_are_left_out() -> None:
    data = replace(drawn(6), rates=frozenset())
    assert leniency(data, "j", Resampler(30, resamples=9)) is None
    assert range_use(data, "j", Resampler(30, resamples=9)) is None
