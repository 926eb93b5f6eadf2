"""Done-criteria on simulated logs whose policies have known values; `benchmarks/off_policy.py` has more."""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.off_policy import covered, errors
from benchmarks.simulated_bandits import FAILURES, bandit
from metaeval.base.errors import MetaevalError
from metaeval.engine.intervals import Bootstrap
from metaeval.kinds.exposure.off_policy.evaluation import evaluate
from metaeval.kinds.exposure.off_policy.policies import Predictions, uniform
from metaeval.kinds.exposure.study import OffPolicy

WEIGHTED = OffPolicy(estimators=("ips", "snips"))
LOGS = 200
EXPECTED = {
    "missing items": {"support"},
    "tiny propensities": {"support", "extrapolation"},
    "wrong propensities": {"mean_weight", "propensities"},
    "deterministic log": {"mean_weight", "support"},
    "few rounds": {"effective_size"},
}


def refused(simulated, wanted=WEIGHTED):
    found = evaluate(simulated.log, simulated.policy, wanted, None)
    return {v.estimator.name: {r.reason for r in v.refusals} for v in found.estimates}


@pytest.mark.slow
@pytest.mark.parametrize("failure", FAILURES)
def test_every_planted_failure_of_overlap_is_refused(failure):
    rng = np.random.default_rng(1)
    for _ in range(LOGS):
        found = refused(bandit(rng, int(rng.choice([300, 1_000])), failure=failure))
        assert all(found[name] & EXPECTED[failure] for name in WEIGHTED.estimators)


@pytest.mark.slow
@pytest.mark.parametrize(("users", "items"), [(200, 12), (400, 30), (600, 200), (1_000, 12), (3_000, 40)])
def test_no_sound_log_is_refused(users, items):
    rng = np.random.default_rng(users)
    for _ in range(LOGS):
        simulated = bandit(rng, users, items=items)
        for one in (simulated, replace(simulated, policy=uniform(simulated.log))):
            assert not any(refused(one).values())


@pytest.mark.slow
def test_intervals_cover_the_known_value():
    for logs, names in ((400, ("ips", "snips")), (80, ("dr", "switch-dr", "dros"))):
        allowed = 3 * np.sqrt(0.95 * 0.05 / logs)  # what chance does to the share of so few logs
        for name, share in covered(logs, 300, resamples=400, names=names).items():
            assert 0.93 - allowed <= share <= 0.97 + allowed, name


def test_dr_is_unbiased_where_either_model_is_right_and_not_where_none_is():
    wrongs = ("model", "propensities", "both")
    model, propensities, both = (abs(errors(60, 1_000, wrong=w, bias=True)["dr"]) for w in wrongs)
    assert max(model, propensities) < 0.006
    assert both > 0.02


@pytest.mark.slow
def test_the_interval_of_the_direct_method_is_of_fits_anew():
    """It is about as wide as that of DR, which has the same model and its noise."""
    rng, widths = np.random.default_rng(5), []
    for seed in range(6):
        simulated = bandit(rng, 400)
        wanted, how = OffPolicy(estimators=("direct", "dr")), Bootstrap(resamples=200, seed=seed)
        direct, dr = (v.estimate for v in evaluate(simulated.log, simulated.policy, wanted, how).estimates)
        widths.append((direct.high - direct.low) / (dr.high - dr.low))
    assert 0.5 < np.median(widths) < 1.5
    once = evaluate(simulated.log, simulated.policy, wanted, how, refits=0).estimates
    assert np.isnan([once[0].estimate.low, once[0].estimate.high]).all()
    assert once[1].estimate.low == dr.low


def test_own_predictions_relative_values_and_errors():
    """A policy by round equals its table; with the true outcomes as predictions, DR is nearly the value."""
    simulated = bandit(np.random.default_rng(7), 800)
    log, policy, group = simulated.log, simulated.policy, simulated.group
    table, n = policy.table[group], np.arange(len(simulated.log))
    known = simulated.interest[group, log.item], (table * simulated.interest[group]).sum(axis=1)
    alone = {"probability": table[n, log.item], "prediction": known[0], "expected": known[1]}
    by_round = replace(policy, table=np.zeros((0, 0)), of_round=alone)
    own = Predictions("q", policy.items, simulated.interest, group)
    wanted = OffPolicy(estimators=("naive", "ips", "direct", "dr", "sndr"), subsamples=30)
    how = {"intervals": Bootstrap(resamples=50), "on_policy": simulated.value}
    one = evaluate(log, policy, wanted, predictions=own, **how)
    other = evaluate(log, by_round, wanted, **how)
    for a, b in zip(one.estimates, other.estimates, strict=True):
        assert a.estimate.value == pytest.approx(b.estimate.value)
        assert a.relative.value == pytest.approx(a.estimate.value / log.outcome.mean())
        np.testing.assert_allclose(a.errors, b.errors)
        assert (len(a.errors), len(b.refusals)) == (30, 0)
    naive, _, direct, dr, sndr = (value.errors.mean() for value in one.estimates)
    assert max(direct, dr, sndr) < naive
    (_, refused) = evaluate(
        log,
        replace(by_round, of_round={"probability": alone["probability"]}),
        OffPolicy(estimators=("ips", "dr")),
        None,
    ).estimates
    assert [r.reason for r in refused.refusals] == ["predictions"]


def test_draws_depend_on_the_seed_alone():
    simulated = bandit(np.random.default_rng(0), 50)
    wanted, how = OffPolicy(estimators=("dr", "dros", "direct")), Bootstrap(resamples=50, seed=3)
    one, two = (evaluate(simulated.log, simulated.policy, wanted, how, refits=3) for _ in range(2))
    assert [v.estimate.row("value") for v in one.estimates] == [
        v.estimate.row("value") for v in two.estimates
    ]


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
