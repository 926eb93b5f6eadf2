"""Labels of a crowd: raters who guess count for little, by every model."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import metaeval as me
from metaeval.base.errors import DataError

pytest.importorskip("crowdkit", reason="no crowd-kit: install metaeval[crowd]")

N = 60
RNG = np.random.default_rng(0)
TRUTH = RNG.integers(1, 4, N)
UNITS = pd.DataFrame({"item_id": range(N), "generator": "a", "explanation": "x"})
GOOD = ("1", "2")
GUESSING = ("3", "4", "5")


def _data(scale: object = (1, 3)) -> me.ExplanationSet:
    def labels(rater: str) -> np.ndarray:
        share = 0.9 if rater in GOOD else 0.0
        return np.where(RNG.random(N) < share, TRUTH, RNG.integers(1, 4, N))

    rows = [
        UNITS.drop(columns="explanation").assign(rater=rater, aspect="clear", rating=labels(rater))
        for rater in (*GOOD, *GUESSING)
    ]
    return me.from_frames(UNITS, pd.concat(rows), scale=scale)


def _right(data: me.ExplanationSet, name: str) -> float:
    raters = ", ".join(f"Annotator('{rater}')" for rater in (*GOOD, *GUESSING))
    return float((me.score(data, [f"{name}({raters})"]).frame["score"].to_numpy() == TRUTH).mean())


@pytest.mark.parametrize("name", ["DawidSkene", "MACE", "GLAD"])
def test_models_of_raters_beat_the_majority(name: str) -> None:
    data = _data()
    assert _right(data, name) > max(0.85, _right(data, "Majority") + 0.1)


def test_a_fraction_is_no_label() -> None:
    with pytest.raises(DataError, match="whole numbers or words"):
        me.score(_data(), ["DawidSkene(Mean(Annotator('1'), Annotator('3')), Annotator('2'))"])
