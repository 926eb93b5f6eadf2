"""Done-criteria on simulated logs whose policies have known values; `benchmarks/off_policy.py` has more."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.off_policy import covered, errors
from benchmarks.simulated_bandits import FAILURES, bandit
from metaeval.base.errors import MetaevalError
from metaeval.engine.intervals import Bootstrap
from metaeval.kinds.exposure.off_policy.evaluation import OffPolicy, evaluate
from metaeval.kinds.exposure.off_policy.policies import uniform
from metaeval.stats.off_policy.refusal import Reason

WEIGHTED = OffPolicy(estimators=("ips", "snips"))
LOGS = 200
EXPECTED = {
    "missing items": {Reason.SUPPORT},
    "tiny propensities": {Reason.SUPPORT, Reason.EXTRAPOLATION},
    "wrong propensities": {Reason.MEAN_WEIGHT, Reason.PROPENSITIES},
    "deterministic log": {Reason.MEAN_WEIGHT, Reason.SUPPORT},
    "few rounds": {Reason.EFFECTIVE_SIZE},
}


def refused(simulated, wanted=WEIGHTED):
    found = evaluate(simulated.log, simulated.policy, wanted, None)
    return {v.estimator.name: {r.reason for r in v.refusals} for v in found.estimates}


@pytest.mark.parametrize("failure", FAILURES)
def test_every_planted_failure_of_overlap_is_refused(failure):
    rng = np.random.default_rng(1)
    for _ in range(LOGS):
        found = refused(bandit(rng, int(rng.choice([300, 1_000])), failure=failure))
        assert all(found[name] & EXPECTED[failure] for name in WEIGHTED.estimators)


@pytest.mark.parametrize(("users", "items"), [(200, 12), (400, 30), (600, 200), (1_000, 12), (3_000, 40)])
def test_no_sound_log_is_refused(users, items):
    rng = np.random.default_rng(users)
    why = Counter()
    for _ in range(LOGS):
        simulated = bandit(rng, users, items=items)
        alike = replace(simulated, policy=uniform(simulated.log))
        for one in (simulated, alike):
            why.update(r for reasons in refused(one).values() for r in reasons)
    assert not why


@pytest.mark.parametrize("failure", [None, *FAILURES])
def test_estimators_with_a_model_are_refused_with_the_others(failure):
    simulated = bandit(np.random.default_rng(2), 400, failure=failure)
    names = ("ips", "dr", "switch-dr", "dros")
    found = refused(simulated, OffPolicy(estimators=names))
    assert all(bool(found[name]) == (failure is not None) for name in names)


def test_intervals_cover_the_known_value():
    for logs, names in ((400, ("ips", "snips")), (80, ("dr", "switch-dr", "dros"))):
        allowed = 3 * np.sqrt(0.95 * 0.05 / logs)  # what chance does to the share of so few logs
        for name, share in covered(logs, 300, resamples=400, names=names).items():
            assert 0.93 - allowed <= share <= 0.97 + allowed, name


@pytest.mark.parametrize("wrong", ["model", "propensities"])
def test_dr_beats_ips_where_either_model_is_right(wrong):
    squared = errors(60, 300, wrong=wrong)
    assert squared["dr"] < 0.8 * squared["ips"]


def test_dr_is_unbiased_where_either_model_is_right_and_not_where_none_is():
    off = {
        wrong: errors(60, 1_000, wrong=wrong, bias=True)["dr"] for wrong in ("model", "propensities", "both")
    }
    assert abs(off["model"]) < 0.006
    assert abs(off["propensities"]) < 0.006
    assert abs(off["both"]) > 0.02


def test_the_interval_of_the_direct_method_is_of_fits_anew():
    """It is about as wide as that of DR, which has the same model and its noise."""
    rng, widths = np.random.default_rng(5), []
    for seed in range(6):
        simulated = bandit(rng, 400)
        wanted, how = OffPolicy(estimators=("direct", "dr")), Bootstrap(resamples=200, seed=seed)
        direct, dr = (v.found for v in evaluate(simulated.log, simulated.policy, wanted, how).estimates)
        widths.append((direct.high - direct.low) / (dr.high - dr.low))
    assert 0.5 < np.median(widths) < 1.5
    once = evaluate(simulated.log, simulated.policy, wanted, how, refits=0).estimates
    assert np.isnan([once[0].found.low, once[0].found.high]).all()
    assert once[1].found.low == dr.low


def test_draws_depend_on_the_seed_alone():
    simulated = bandit(np.random.default_rng(0), 50)
    wanted, how = OffPolicy(estimators=("dr", "dros", "direct")), Bootstrap(resamples=50, seed=3)
    one, two = (evaluate(simulated.log, simulated.policy, wanted, how, refits=3) for _ in range(2))
    assert [v.found for v in one.estimates] != []
    for a, b in zip(one.estimates, two.estimates, strict=True):
        assert (a.found.value, a.found.low, a.found.high) == (b.found.value, b.found.low, b.found.high)


def test_each_weighting_of_a_sweep_comes_once():
    wanted = OffPolicy(estimators=["ips", "naive", "ips", "dros"], clip=[10, 10.0, 5], trim=[2])
    names = [(e.name, *e.weighting) for e in wanted.list()]
    clips = [("ips", "clip", 10.0), ("ips", "clip", 5.0), ("ips", "trim", 2.0)]
    none = ("none", np.inf)
    assert names == [("ips", *none), *clips, ("naive", *none), ("dros", *none)]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"estimators": ["ipz"]}, "'ipz' is not allowed .*ips"),
        ({"estimators": []}, "estimators"),
        ({"clip": [0]}, "clip"),
        ({"trim": [float("inf")]}, "trim"),
    ],
)
def test_a_wrong_option_is_said_in_one_sentence(options, message):
    with pytest.raises(MetaevalError, match=message) as error:
        OffPolicy(**options)
    assert "\n" not in str(error.value)
