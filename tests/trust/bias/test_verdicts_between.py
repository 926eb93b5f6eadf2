from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from metaeval.trust.bias.bias import VerdictPairs
from metaeval.trust.bias.verdicts_between import verdicts_between

SIGNATURES = {
    "p": {"model": "m", "prompt": "x", "replicate": 0, "outcome": {"flips": 3}},
    "again": {"model": "m", "prompt": "x", "replicate": 1, "outcome": {"flips": 5}},
    "reworded": {"model": "m", "prompt": "y", "replicate": 0, "outcome": {"flips": 0}},
    "stranger": {"model": "other", "prompt": "x", "replicate": 0, "outcome": {"flips": 3}},
}


def asked(
    judge: str, seed: int, *, first_bias: float = 0.0, users: int = 12, per_user: int = 20
) -> VerdictPairs:
    """Return drawn verdicts; a share of them is for whichever text is shown first."""
    rng = np.random.default_rng(seed)
    n = users * per_user
    drawn = rng.choice([0.0, 0.5, 1.0], (2, n))  # what a wins: shown first, and shown second
    shown = np.where(rng.random((2, n)) < first_bias, [[1.0], [0.0]], drawn)
    frame = pd.DataFrame(
        {
            "user_id": [f"u{at % users:02}" for at in range(n)],
            "item_id": [f"i{at:03}" for at in range(n)],
            "first": "a",
            "second": "b",
            "shown_first": shown[0],
            "shown_second": shown[1],
        }
    )
    return VerdictPairs(judge, "x", frame, 0)


def test_judges_that_differ_in_one_part_are_compared_by_plain_formulas() -> None:
    pairs = [asked("p", 1), asked("again", 2), asked("reworded", 3), asked("stranger", 1)]
    found = {b.differ_in: b for b in verdicts_between(pairs, SIGNATURES, resamples=200)}
    assert {what: b.judges for what, b in found.items()} == {
        "prompt": ("p", "reworded"),
        "replicate": ("p", "again"),
    }
    one, other = (p.frame[["shown_first", "shown_second"]].to_numpy() for p in pairs[:2])
    repeated = found["replicate"]
    assert repeated.n_pairs == 240
    assert repeated.identical.value[0] == pytest.approx((one == other).mean())
    for_first = [(v[:, 0].mean() + 1 - v[:, 1].mean()) / 2 for v in (one, other)]
    assert repeated.shift.value[0] == pytest.approx(for_first[1] - for_first[0])
    assert repeated.identical.low[0] < 1 / 3 < repeated.identical.high[0]


def test_a_wording_that_prefers_the_first_is_found() -> None:
    pairs = [asked("p", 1), asked("reworded", 3, first_bias=0.4)]
    (found,) = verdicts_between(pairs, SIGNATURES, resamples=999)
    assert found.shift.p[0] < 0.01
    assert found.shift.low[0] < 0.2 < found.shift.high[0]  # 0.4 of verdicts that were even before


def test_judges_without_a_pair_in_common_are_left_out() -> None:
    one, other = asked("p", 1), asked("again", 2)
    apart = VerdictPairs("again", "x", other.frame.assign(item_id="z" + other.frame["item_id"]), 0)
    assert list(verdicts_between([one, apart], SIGNATURES, resamples=10)) == []
