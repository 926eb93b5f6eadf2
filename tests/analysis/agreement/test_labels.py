"""Agreement of evaluators with people, held against agreement worked out unit by unit."""

from __future__ import annotations

from dataclasses import astuple

import numpy as np
import pandas as pd
import pytest

from metaeval.analysis.agreement.labels import agreements, check_cuts, check_measure, labels_of
from metaeval.base.errors import MetaevalError
from metaeval.base.records import Scale
from metaeval.engine.alignment.policy import Policy
from metaeval.engine.alignment.prepared import prepare
from metaeval.engine.intervals import Bootstrap
from metaeval.stats.agreement.raters import cohen_kappa, krippendorff_alpha
from metaeval.stats.coefficients.grouped import kendall, spearman
from metaeval.stats.resampling.weights import Resamples, expanded

SCALE = Scale(1, 5)
KEYS = ["user_id", "item_id", "generator"]
BOOT = Bootstrap(resamples=200)


def study(n_users=8, n_items=4, seed=0, aspects=("clear",)):
    """People's ratings; their user u0 was not asked about item i0, and gave no answer about i1."""
    u, i = (v.ravel() for v in np.indices((n_users, n_items)))
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"user_id": u, "item_id": i, "generator": i % 2}).astype(str)
    truth = pd.concat(
        [frame.assign(aspect=a, rating=rng.integers(1, 6, len(frame)).astype(float)) for a in aspects],
        ignore_index=True,
    )
    truth.loc[truth.index[1], "rating"] = np.nan
    return truth.drop(index=0).reset_index(drop=True)


def scored(truth, name="judge", seed=1, spread=2):
    rng = np.random.default_rng(seed)
    near = truth["rating"].fillna(3) + rng.integers(-spread, spread + 1, len(truth))
    return truth[[*KEYS, "aspect"]].assign(evaluator=name, score=np.clip(near, 1, 5), status="ok")


def measured(scores, truth, **options):
    data = prepare(scores, truth, Policy.of(["dataset"], ["spearman"], None, "skip", "own"))
    return data, agreements(data, scores, truth, scale=SCALE, bootstrap=BOOT, **options)


def test_missing_scores_are_those_of_the_evaluator_and_aspect_that_are_measured() -> None:
    truth = study(aspects=("clear", "fitting"))
    other, judge = scored(truth, "other"), scored(truth)
    other.loc[:9, ["score", "status"]] = [np.nan, "missing"]
    judge.loc[truth.index[-2:], ["score", "status"]] = [np.nan, "refused"]
    scores = pd.concat([other, judge], ignore_index=True)
    policy = Policy.of(["dataset"], ["spearman"], None, "skip", "own")
    some = prepare(judge, truth[truth["aspect"] == "fitting"], policy)
    (found,) = agreements(some, scores, truth, scale=SCALE, bootstrap=BOOT)
    assert found.statuses == {"refused": 2}
    assert found.n_units == (truth["aspect"] == "fitting").sum() - 2


def test_estimates_are_those_of_the_units_that_both_labelled() -> None:
    truth = study()
    scores = scored(truth)
    scores.loc[3, ["score", "status"]] = [np.nan, "refused"]
    scores = scores.drop(index=5)
    _, (found,) = measured(scores, truth)
    both = truth.merge(scores).dropna(subset=["rating", "score"])
    x, y = both["score"].to_numpy(), both["rating"].to_numpy()
    labels = [1, 2, 3, 4, 5]
    expected = {
        "kappa": cohen_kappa(x, y, labels=labels),
        "linear": cohen_kappa(x, y, "linear", labels=labels),
        "quadratic": cohen_kappa(x, y, "quadratic", labels=labels),
        "alpha": krippendorff_alpha(np.stack([x, y]), "ordinal"),
        "cut 2": cohen_kappa(x >= 2, y >= 2),
        "cut 5": cohen_kappa(x >= 5, y >= 5),
        "spearman": spearman(x, y),
        "kendall": kendall(x, y),
    }
    for name, value in expected.items():
        assert found.measured[name].value == pytest.approx(value), name
    assert found.n_units == len(both) == 28
    assert found.statuses == {"missing": 1, "refused": 1}  # not the question that people left open
    assert found.table.sum() == 28
    assert found.table[1, 4] == ((y == 2) & (x == 5)).sum()


def test_intervals_are_those_of_resampled_users() -> None:
    truth = study(n_users=20, n_items=6)
    scores = scored(truth)
    _, (found,) = measured(scores, truth)
    both = truth.merge(scores).dropna(subset=["rating"])
    users = sorted(both["user_id"].unique())
    parts = [both[both["user_id"] == u] for u in users]
    weights = np.concatenate(list(Resamples(len(users), BOOT.resamples, BOOT.seed).blocks()), axis=1)
    naive = []
    for column in weights.T:
        drawn = pd.concat([p for p, n in zip(parts, column, strict=True) for _ in range(int(n))])
        naive.append(cohen_kappa(drawn["score"], drawn["rating"], "quadratic", labels=[1, 2, 3, 4, 5]))
    tail = (1 - expanded(0.95, len(users))) / 2
    low, high = np.quantile(naive, [tail, 1 - tail])
    interval = found.measured["quadratic"]
    # Stretched about the estimate by what the jackknife varies more, so never narrower.
    assert interval.low <= low + 1e-12
    assert interval.high >= high - 1e-12
    assert interval.high - interval.low < 1.4 * (high - low)


def test_scores_that_are_no_labels_are_compared_in_order_and_at_cuts_that_are_asked_for() -> None:
    truth = study()
    scores = scored(truth).assign(score=lambda f: np.minimum(f["score"] + 0.25, 5))
    _, (found,) = measured(scores, truth)
    assert set(found.measured) == {"spearman", "kendall"}
    assert found.labels == ()
    assert found.table is None
    assert found.measure(None) == "spearman"
    _, (cut,) = measured(scores, truth, cuts=(3.5,))
    both = truth.merge(scores).dropna(subset=["rating"])
    assert cut.measured["cut 3.5"].value == pytest.approx(
        cohen_kappa(both["score"] >= 3.5, both["rating"] >= 3.5)
    )
    _, (off,) = measured(scores.assign(score=lambda f: 100 * f["score"]), truth, cuts=(3,))
    assert "cut 3" not in off.measured  # no cut of the scale says anything of such scores


def test_strata_are_agreement_in_their_units_alone() -> None:
    truth = study(n_users=12)
    scores = scored(truth)
    data = prepare(scores, truth, Policy.of(["dataset"], ["spearman"], None, "skip", "own"))
    part = data.labels["generator"].take(data.keys["generator"])
    _, found = measured(scores, truth, strata=list(part))
    assert [f.stratum for f in found] == ["", "0", "1"]
    assert found[0].n_units == found[1].n_units + found[2].n_units
    alone = truth["generator"] == "1"
    _, (one,) = measured(scores[alone], truth[alone])
    assert astuple(found[2].measured["kappa"]) == pytest.approx(astuple(one.measured["kappa"]))
    assert found[2].n_clusters == 12


def test_what_the_verdict_is_by() -> None:
    truth = study()
    _, (five,) = measured(scored(truth), truth)
    assert five.measure(None) == "quadratic"
    assert five.measure("kappa") == "kappa"
    assert five.measure(None, (4,)) == "cut 4"
    y = np.array([0.0, 1.0])
    assert labels_of(y, y, Scale(0, 1)) == (0.0, 1.0)
    assert labels_of(y, y, Scale(0, 100)) == ()  # too many to be compared as labels
    assert labels_of(y, y + 0.5, Scale(0, 2)) == ()
    assert labels_of(y, y, Scale(0, 1, integer=False)) == ()


def test_one_user_has_no_interval() -> None:
    truth = study(n_users=1, n_items=8)
    _, (found,) = measured(scored(truth), truth)
    value = found.measured["quadratic"]
    assert np.isfinite(value.value)
    assert np.isnan(value.low)


def test_wrong_options_are_said() -> None:
    with pytest.raises(MetaevalError, match="did you mean 'kendall'"):
        check_measure("kendal")
    with pytest.raises(MetaevalError, match="above 1, up to 5"):
        check_cuts([1], SCALE)
    with pytest.raises(MetaevalError, match="--cut 6"):
        check_cuts([6], SCALE)
    check_cuts([2, 5], SCALE)
    check_measure(None)
