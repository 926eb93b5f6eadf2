"""Pairs of the next round follow the synthetic exposure, are real, and weigh less where some was added."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from metaeval.kinds.exposure.data.loading import pairs_of
from metaeval.kinds.exposure.data.log_set import preferences_of, units_of
from metaeval.kinds.exposure.data.simulated import simulate
from metaeval.kinds.exposure.pairs import matched_pairs
from metaeval.kinds.exposure.propensity.options import PropensityOptions
from metaeval.kinds.exposure.propensity.propensities import propensities_of
from metaeval.kinds.exposure.synthesis.augmented import augmented, with_synthetic
from metaeval.kinds.exposure.synthesis.interactions import Interactions
from metaeval.kinds.exposure.synthesis.options import SynthesisOptions
from metaeval.kinds.exposure.synthesis.synthesizer import synthesize

SIMULATED = simulate(users=150, items=100, seed=2)
GIVEN = propensities_of(SIMULATED.data, PropensityOptions())
UNITS = units_of(matched_pairs(GIVEN, match=("popularity",), floor=1e-6).frame)
DATA = replace(SIMULATED.data, table=UNITS, ratings=preferences_of(UNITS, SIMULATED.data.log))
MADE = synthesize(Interactions.of_log(DATA), SynthesisOptions())


def test_the_mixed_propensity_is_that_of_the_log_or_the_synthesizer() -> None:
    mixed = augmented(GIVEN, MADE.item, MADE.bins)
    shown = np.zeros(SIMULATED.propensity.shape, dtype=bool)
    shown[GIVEN.of.user, GIVEN.of.item] = True
    for bin_ in range(5):
        own = MADE.bins == bin_
        free = ~shown[:, own]
        chance = (MADE.bins[MADE.item] == bin_).sum() / free.sum()  # of an unexposed pair
        rows = own[GIVEN.of.item]
        p = GIVEN.probability[rows]
        np.testing.assert_allclose(mixed.probability[rows], 1 - (1 - p) * (1 - chance))
    assert (mixed.probability >= GIVEN.probability).all()
    assert mixed.probability.max() <= 1


def test_mixed_choices_are_drawn_from_log_and_synthesizer_by_their_rows() -> None:
    choices = replace(GIVEN, exposure="choice", probability=np.full(len(GIVEN.of), 0.01))
    mixed = augmented(choices, MADE.item, MADE.bins).probability
    n, m = len(GIVEN.of), len(MADE.item)
    for row in (0, 7, 99):
        bin_ = MADE.bins[GIVEN.of.item[row]]
        share = (MADE.bins[MADE.item] == bin_).mean() / (MADE.bins == bin_).sum()
        assert mixed[row] == pytest.approx((n * 0.01 + m * share) / (n + m))


def test_pairs_follow_the_curve_as_far_as_there_are_any_and_are_of_the_real_log() -> None:
    new = with_synthetic(DATA, [MADE], GIVEN, floor=1e-6, seed=0)
    again = with_synthetic(DATA, [MADE], GIVEN, floor=1e-6, seed=0)
    pd.testing.assert_frame_equal(new.table, again.table)
    before, after = pairs_of(DATA), pairs_of(new)
    assert before is not None
    assert after is not None
    share = [pairs["popularity"].isin(["3", "4"]).mean() for pairs in (before, after)]
    assert share[1] > 2 * share[0]
    wanted = np.bincount(MADE.bins[MADE.item], minlength=5) / len(MADE.item) * len(before)
    for bin_, count in after["popularity"].value_counts().items():
        assert count <= round(wanted[int(bin_)])
    # The truth is made of the log alone, whatever was made up.
    pd.testing.assert_frame_equal(new.ratings, preferences_of(new.table, DATA.log))
    assert (new.log is DATA.log, new.scores) == (True, None)
    assert new.synthetic is not None
    assert len(new.synthetic) == len(MADE.item)
