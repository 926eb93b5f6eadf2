"""Fitted propensities are those that were planted; weights by them undo what exposure did."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metaeval.base.errors import MetaevalError
from metaeval.engine.intervals import Bootstrap
from metaeval.kinds.exposure.commands import log_alone
from metaeval.kinds.exposure.data.loading import log_of
from metaeval.kinds.exposure.propensity.propensities import propensities_of
from metaeval.kinds.exposure.propensity.tables import means_frame
from metaeval.kinds.exposure.study import PropensityOptions
from tests.kinds.exposure.data.test_loading import ABOUT as SHOP
from tests.kinds.exposure.data.test_loading import tables
from tests.kinds.exposure.propensity.logs import ABOUT, means, planted, planted_set

FITTED = PropensityOptions(source="fitted", features=["item_popularity"], refits=0, folds=3)


@settings(max_examples=3)
@given(st.integers(0, 2**32), st.floats(0.3, 1.0), st.integers(1, 8))
def test_planted_propensities_are_found(seed, slope, negatives):
    data, _, _ = planted_set(seed, users=200, slope=slope, level=-1.0)
    options = FITTED.model_copy(update={"negatives": negatives})
    found = propensities_of(data, options)
    assert found.exposure == "pair"
    planted_ = data.log["propensity"].to_numpy()
    assert np.abs(np.log(found.probability / planted_)).mean() < 0.25
    # The weights add up to all users × all items.
    assert abs(found.weight.sum() / (200 * 60) - 1) < 0.2


def test_the_order_of_rows_changes_nothing():
    log, *_ = planted(3)
    one, other = (log_of(ABOUT, {"log": given}) for given in (log, log.sample(frac=1, random_state=1)))
    found = [propensities_of(data, FITTED) for data in (one, other)]
    by_pair = [dict(zip(f.log.pair.tolist(), f.probability.tolist(), strict=True)) for f in found]
    assert by_pair[0] == pytest.approx(by_pair[1], rel=1e-9)


def test_weights_undo_what_exposure_did():
    data, _, outcome = planted_set(5, users=400, slope=0.8, level=-1.0)
    for options in (PropensityOptions(), FITTED):
        naive, ips, snips = means(data, options)
        assert naive - outcome.mean() > 0.4
        assert abs(snips - outcome.mean()) < 0.06
        assert abs(ips - outcome.mean()) < 0.12


def test_intervals_of_fitted_propensities_are_of_refits_and_there_are_none_without():
    data, _, outcome = planted_set(9, users=60, items=40)
    options = FITTED.model_copy(update={"refits": 8})
    frame = means_frame(log_alone(data, propensity=options, bootstrap=Bootstrap(seed=1))).set_index("mean")
    again = means_frame(log_alone(data, propensity=options, bootstrap=Bootstrap(seed=1))).set_index("mean")
    pd.testing.assert_frame_equal(frame, again)
    assert frame["ci_low"]["snips"] < outcome.mean() < frame["ci_high"]["snips"]
    assert (frame["ci_high"] > frame["ci_low"]).all()
    once = means_frame(log_alone(data, propensity=FITTED, bootstrap=Bootstrap(seed=1)))
    assert once["ci_low"].isna().tolist() == [False, True, True]


def test_choices_are_weighted_by_items_and_rounds():
    log = tables()["log"].drop(columns="user_id")
    data = log_of(SHOP, {"log": log})
    found = propensities_of(data, PropensityOptions())
    np.testing.assert_allclose(found.weight, 1 / (3 * log["propensity"]))
    ips = means(data, PropensityOptions())[1]
    assert ips == pytest.approx((log["outcome"] / log["propensity"]).sum() / 15)


@pytest.mark.parametrize(
    ("columns", "options", "says"),
    [
        (["propensity"], PropensityOptions(source="logged"), "has no column 'propensity'; fit propensities"),
        (["user_id"], PropensityOptions(source="fitted"), "it has no column 'user_id'"),
        ([], PropensityOptions(source="fitted"), "need a log with three users or more; it has 2"),
    ],
)
def test_what_cannot_be_had_is_said(columns, options, says):
    log = tables()["log"].drop(columns=columns)
    with pytest.raises(MetaevalError, match=says):
        propensities_of(log_of(SHOP, {"log": log}), options)


def test_every_item_shown_to_every_user_cannot_be_fitted():
    grid = pd.MultiIndex.from_product([list("uvw"), list("abc")], names=["user_id", "item_id"])
    log = grid.to_frame(index=False).assign(outcome=1.0)
    with pytest.raises(MetaevalError, match="the log shows nearly every user every item"):
        propensities_of(log_of(SHOP, {"log": log}), PropensityOptions())
