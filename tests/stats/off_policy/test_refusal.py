from dataclasses import replace

import numpy as np
import pytest

from metaeval.stats.off_policy.estimators import (
    ESTIMATORS,
    Estimator,
    Overlap,
    Weighting,
    WeightTotals,
    refusals,
)
from metaeval.stats.off_policy.overlap import Support

WEIGHTS = WeightTotals(expected=10_000, total=10_000.0, squares=40_000.0, largest=9.0, error=0.02)
SOUND = Overlap(Support(0.0, 0.0, 0.0, 0.0, 0.0), (0.05, 1.0), WEIGHTS)


def reasons(overlap, name="ips", changed=None, weighting=None):
    estimator = Estimator(name, weighting) if weighting else Estimator(name)
    return [r.reason for r in refusals(estimator, changed or overlap.weights, overlap)]


@pytest.mark.parametrize("name", ESTIMATORS)
def test_sound_overlap_is_not_refused(name):
    assert reasons(SOUND, name) == []


def of_weights(**changed):
    return {"weights": replace(WEIGHTS, **changed)}


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        (of_weights(expected=500, total=500.0, squares=5_000.0), "effective_size"),
        (of_weights(expected=100_000, total=100_000.0, squares=2e7), "effective_share"),
        (of_weights(total=12_000.0), "mean_weight"),
        (of_weights(total=8_000.0), "mean_weight"),
        (of_weights(error=np.nan), "mean_weight"),
        ({"support": Support(0.03, 0.0, 0.0, 0.0, 0.0)}, "support"),
        ({"support": Support(0.0, 0.0, 0.0, 0.25, 0.0)}, "extrapolation"),
        ({"support": Support(0.0, 0.0, 0.0, 0.0, 0.06)}, "propensities"),
        ({"imbalance": (-0.2, -6.0)}, "balance"),
        ({"varied": False}, "outcomes"),
    ],
)
def test_each_failure_has_its_reason_and_only_it(changed, reason):
    overlap = replace(SOUND, **changed)
    assert reasons(overlap) == [reason]
    assert reasons(overlap, "naive") == []
    by_weights = reason in ("mean_weight", "propensities", "balance")
    assert reasons(overlap, "direct") == ([] if by_weights else [reason])


def test_a_large_effective_size_alone_does_not_help():
    """Weights that are all alike, and a tenth of what they should add up to: a deterministic log."""
    weights = WeightTotals(expected=10_000, total=1_000.0, squares=100.0, largest=0.1, error=0.0)
    assert weights.effective == pytest.approx(10_000)
    assert reasons(replace(SOUND, weights=weights)) == ["mean_weight"]


@pytest.mark.parametrize("change", ["clip", "trim"])
def test_clipping_helps_the_effective_size_and_may_not_take_much_away(change):
    poor = replace(WEIGHTS, squares=2e6)
    overlap = replace(SOUND, weights=poor)
    weighting = Weighting(change, 20.0)
    little, much = (replace(WEIGHTS, total=10_000.0 * share) for share in (0.95, 0.85))
    assert reasons(overlap) == ["effective_size", "effective_share"]
    assert reasons(overlap, "ips", little, weighting) == []
    assert reasons(overlap, "ips", much, weighting) == ["cut_off"]


def test_what_switch_dr_and_dros_choose_to_cut_off_does_not_help_them():
    overlap = replace(SOUND, weights=replace(WEIGHTS, squares=2e6))
    for name, change in (("switch-dr", "trim"), ("dros", "shrink")):
        found = reasons(
            overlap, name, replace(WEIGHTS, total=1_000.0, squares=1_000.0), Weighting(change, 1.0)
        )
        assert found == ["effective_size", "effective_share"]


def test_a_reason_says_its_number_and_the_limit():
    overlap = replace(
        SOUND, weights=replace(WEIGHTS, squares=4.75e7), support=Support(0.25, 0.01, 0.005, 0.0, 0.0)
    )
    texts = [r.text for r in refusals(Estimator("ips"), overlap.weights, overlap)]
    assert texts == [
        "the effective sample size is 2.1 (at least 100)",
        "the effective sample size is 0.02% of the rounds (at least 1%)",
        "25.0% of the policy is on what the log never shows; chance would leave out 1.0% (at most 2% more)",
    ]
