"""Twelve evaluators are told apart by colour, on white and dark, by colour-blind readers too."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import numpy as np
import pytest

import metaeval
from metaeval.engine.figure import PALETTE
from metaeval.stats.coefficients.tables import Floats

LOOK = Path(metaeval.__file__).parent / "reports/assets"
GROUNDS = {"light": "#ffffff", "dark": "#14171a"}
# Linear RGB as it is seen without cones for long and for medium waves (Machado et al. 2009, severity 1).
SEEN = {
    "all cones": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
}
XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def linear(colour: str) -> Floats:
    part = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(part <= 0.04045, part / 12.92, ((part + 0.055) / 1.055) ** 2.4)


def lab(rgb: Floats) -> Floats:
    xyz = XYZ @ np.clip(rgb, 0, 1) / np.array([0.9505, 1, 1.089])
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def shown(scheme: str) -> list[str]:
    """Return the colours that the page shows for those of the palette."""
    script, style = (LOOK / "app/chart_look.js").read_text(), (LOOK / "app.css").read_text()
    series = dict(re.findall(r"'(#[0-9a-f]{6})': 'var\((--series-\d+)\)'", script))
    colours = {n: pair for n, *pair in re.findall(r"(--series-\d+): light-dark\((\S+), (\S+)\)", style)}
    return [colours[series[colour.lower()]][scheme == "dark"] for colour in PALETTE]


def test_the_page_shows_the_colours_of_the_figures() -> None:
    assert shown("light") == [colour.lower() for colour in PALETTE]


@pytest.mark.parametrize("seen", SEEN)
@pytest.mark.parametrize("scheme", GROUNDS)
def test_every_two_colours_differ(scheme: str, seen: str) -> None:
    found = [lab(SEEN[seen] @ linear(colour)) for colour in shown(scheme)]
    assert len(found) == 12
    # A difference of 2.3 is just noticeable; grey is as near to two colours of Okabe and Ito as 8.
    assert min(float(np.linalg.norm(a - b)) for a, b in itertools.combinations(found, 2)) > 7.5
