"""The heat map of evaluators: its numbers can be read on each of its colours."""

from __future__ import annotations

import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from metaeval.engine.sheet import Column, Sheet
from metaeval.kinds.explanations.figures.likeness import likeness

FRAME = pd.DataFrame(
    {"first": ["a"], "second": ["b"], "aspect": ["x"], "coefficient": ["pearson"], "r": [0.5], "n_units": [9]}
)


def luminance(colour: np.ndarray) -> float:
    """Of WCAG, from red, green and blue out of 255."""
    part = colour / 255
    return float(
        np.where(part <= 0.04045, part / 12.92, ((part + 0.055) / 1.055) ** 2.4) @ (0.2126, 0.7152, 0.0722)
    )


def rgb(text: str) -> np.ndarray:
    return np.array([int(text[i : i + 2], 16) for i in (1, 3, 5)], dtype=float)


@given(r=st.floats(-100, 100))
def test_numbers_have_contrast(r: float) -> None:
    figure = likeness(Sheet("likeness", "L", FRAME, (Column("first", "first"),)), {})
    cells, numbers = figure.chart["layer"]
    scale, ink = cells["encoding"]["color"]["scale"], numbers["encoding"]["color"]
    stops = np.array([rgb(colour) for colour in scale["range"]])
    ground = np.array([np.interp(r, scale["domain"], stops[:, channel]) for channel in range(3)])
    below = float(ink["condition"]["test"].removeprefix("datum.r_100 < "))
    text = rgb(ink["condition"]["value"] if r < below else ink["value"])
    dark, light = sorted([luminance(ground), luminance(text)])
    assert (light + 0.05) / (dark + 0.05) >= 4.5
