"""How often a bias is found that is there, and one that is not: 200 seeded repetitions."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

from metaeval.stats.resampling.bootstrap import Resampler
from metaeval.trust.bias.bias import VerdictPairs
from metaeval.trust.bias.position import position
from metaeval.trust.bias.self_preference import own_family, self_preference
from metaeval.trust.bias.verbosity import verbosity
from tests.trust.simulated_studies import FAMILIES, drawn

pytestmark = pytest.mark.slow

STUDIES = 200
LOW, HIGH = binom.ppf([0.005, 0.995], STUDIES, 0.05) / STUDIES
"""Where the share of false findings of 200 tests at 5 % lies, in 99 of 100 cases: 1.5 % to 9.5 %."""


def found(**planted: object) -> dict[str, np.ndarray]:
    """Return the share of studies in which each bias is found."""
    rows = []
    for seed in range(STUDIES):
        data = drawn(seed, **planted)  # type: ignore[arg-type]
        resampler = Resampler(data.n_clusters, resamples=99, seed=seed)
        longer = verbosity(data, "j", resampler, is_own=own_family(data, "j", FAMILIES))
        own = self_preference(data, "j", FAMILIES, resampler)
        assert longer is not None
        assert own is not None
        rows.append((longer.doubling.best.p[-1] <= 0.05, own.points.best.p[-1] <= 0.05))
    length, family = np.array(rows).T
    return {"length": length.mean(), "family": family.mean()}


@pytest.mark.parametrize(
    "study",
    [{}, {"users": 10}, {"noisy": True, "others": True}],
    ids=["truth seen", "few users", "quality seen, and other people's ratings"],
)
def test_nothing_is_found_in_a_clean_judge(study: dict[str, object]) -> None:
    rates = found(**study)
    assert LOW <= rates["length"] <= HIGH
    assert LOW <= rates["family"] <= HIGH


@pytest.mark.parametrize(
    ("planted", "power", "other"),
    [
        ({"length": 0.25}, ("length", 0.95), "family"),
        ({"family": 0.3}, ("family", 0.9), "length"),
        ({"family": 0.5, "noisy": True, "others": True}, ("family", 0.9), "length"),
    ],
)
def test_what_is_planted_is_found_and_not_taken_for_something_else(
    planted: dict[str, object], power: tuple[str, float], other: str
) -> None:
    rates = found(**planted)
    assert rates[power[0]] >= power[1]
    assert rates[other] <= HIGH


def pairs(seed: int, first: float) -> VerdictPairs:
    """Draw a pairwise judge's verdicts; it takes the text shown first in the share ``first`` of its calls."""
    rng = np.random.default_rng(seed)
    n = 30 * 8
    better = rng.normal(0, 1, n)
    shown = {}
    for order, of_first in (("shown_first", 1.0), ("shown_second", 0.0)):
        felt = better + rng.normal(0, 1, n)
        by_text = np.where(np.abs(felt) < 0.2, 0.5, (felt > 0) * 1.0)
        shown[order] = np.where(rng.random(n) < first, of_first, by_text)
    users = np.repeat([f"u{u:02}" for u in range(30)], 8)
    return VerdictPairs("p", "x", pd.DataFrame({"user_id": users, **shown}), 0)


@pytest.mark.parametrize(("first", "least", "most"), [(0.0, LOW, HIGH), (0.15, 0.95, 1.0)])
def test_a_preference_for_the_first_place(first: float, least: float, most: float) -> None:
    rows = []
    for seed in range(STUDIES):
        measured = position(pairs(seed, first), resamples=199, seed=seed)
        assert measured is not None
        rows.append(measured.first.p[0] <= 0.05)
    assert least <= np.mean(rows) <= most
