"""The sentences under tables of off-policy values."""

import pandas as pd
import pytest

from metaeval.engine.intervals import Bootstrap
from metaeval.kinds.exposure.off_policy.sheets import intervals_said


@pytest.mark.parametrize(
    ("n", "made"),
    [
        (100_000, "10,000 resamples of 100,000 users"),
        (100_001, "jackknife; bags of little bootstraps for values that are not smooth"),
    ],
)
def test_what_intervals_come_from_is_said_as_it_was(n: int, made: str) -> None:
    frame = pd.DataFrame(
        {"propensities": ["logged"], "estimator": ["ips"], "n_clusters": [n], "resampled": ["users"]}
    )
    said = list(intervals_said(frame, Bootstrap(), 0))
    assert f"Brackets hold 95 % intervals from {made}." in said
