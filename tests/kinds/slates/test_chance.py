"""Rating transitivity of a judge that does not look, by simulation."""

from __future__ import annotations

import numpy as np
import pytest

from metaeval.kinds.slates.files import UNITS
from metaeval.kinds.slates.verdicts import (
    RATING_TRANSITIVITY,
    coherence_table,
    rated_verdicts,
    raters_of,
    verdict_rows,
)
from tests.kinds.slates.studies import random_duels, scored


@pytest.mark.parametrize("ties", [0.0, 0.4])
def test_a_coin_keeps_to_half_of_what_ratings_say(ties: float) -> None:
    """Whatever ties there are, of verdicts and of ratings."""
    data = random_duels(5, users=400)
    draw = np.random.default_rng(int(10 * ties))
    p = [(1 - ties) / 2, ties, (1 - ties) / 2]
    verdicts = {name: draw.choice([-1, 0, 1], len(data), p=p) for name in ("coin", "rates")}
    made = scored(data, verdicts, ratings={"coin": "rates"}, bootstrap={"resamples": 400})
    units, aligned = made.units(UNITS), made.matched.aligned
    rated = [*rated_verdicts(aligned, units, raters_of(made))]
    found = coherence_table(verdict_rows(aligned, units), rated, made.study.bootstrap)
    rows = found[(found["axiom"] == RATING_TRANSITIVITY) & (found["evaluator"] == "coin")]
    assert len(rows) == 2
    assert (rows["chance"] == 0.5).all()
    error = (rows["ci_high"] - rows["ci_low"]) / (2 * 1.96)
    assert (error < 0.03).all()
    assert ((rows["estimate"] - 0.5).abs() < 4 * error).all()
