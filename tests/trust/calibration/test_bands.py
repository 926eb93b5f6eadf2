"""The words for an agreement."""

from __future__ import annotations

import math

import pytest

from metaeval.analysis.agreement.labels import Agreement
from metaeval.base.errors import MetaevalError
from metaeval.stats.resampling.bootstrap import Estimate
from metaeval.trust.calibration.record import USABLE, Bands


@pytest.mark.parametrize(
    ("estimate", "low", "words"),
    [
        (0.8, 0.6, "usable as a gate"),
        (0.8, 0.59, "tighten the rubric, or too few labels to tell"),
        (0.55, 0.4, "tighten the rubric"),
        (0.9, 0.39, "not measuring it, or too few labels to tell"),
        (0.3, 0.1, "not measuring it"),
        (0.9, math.nan, "cannot be said"),
    ],
)
def test_the_verdict_is_by_the_lower_end(estimate, low, words) -> None:
    found = Bands().verdict(estimate, low)
    assert found == words
    assert (found == USABLE) == (low >= 0.6)


@pytest.mark.parametrize(("n_clusters", "words"), [(5, "too few to tell"), (6, "usable as a gate")])
def test_few_clusters_make_no_gate_however_narrow_the_interval(n_clusters, words) -> None:
    value = Estimate(0.92, 0.91, 0.93, n_clusters)
    found = Agreement("judge", "clear", "", 30, n_clusters, {}, {"spearman": value})
    assert Bands().judged(found, None, ())[2] == words


def test_bands_may_be_others() -> None:
    bands = Bands.read("0.2, 0.3")
    assert bands == (0.2, 0.3)
    assert bands.verdict(0.35, 0.31) == "usable as a gate"
    assert "0.3 or more is usable as a gate" in bands.sentence()
    assert Bands.read(None) == (0.4, 0.6)


@pytest.mark.parametrize("text", ["0.6,0.4", "0.4", "a,b", "0.4,0.5,0.6", "0.4,1.5", "", "nan,0.5"])
def test_bands_that_are_none_are_refused(text) -> None:
    with pytest.raises(MetaevalError, match="two rising numbers"):
        Bands.read(text)
