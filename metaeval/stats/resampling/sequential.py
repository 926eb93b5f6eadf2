"""Labels one by one, of units drawn with known probabilities, until a question is decided.

The value asked for is Σ w y over all units. A judge's scores f are there for all of them. Each draw of a
unit, with replacement and probability p, gives Σ w f + w (y − f) / p, whose expectation is the value whatever
f and p are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from metaeval.stats.coefficients.tables import Floats, Ints

LEAST = 30
"""Draws before which nothing is decided: the interval is valid for many draws."""
_USUAL = 100  # draws at which the interval is tightest


def chances(weights: Floats, doubt: Floats) -> Floats:
    """Return how likely each unit is drawn: half by |w|, half by |w| times how doubtful its score is."""
    size = np.abs(weights)
    told = size * np.where(np.isnan(doubt), np.nanmean(doubt) if (~np.isnan(doubt)).any() else 1.0, doubt)
    told = told if told.sum() > 0 else size
    p: Floats = 0.5 * size / size.sum() + 0.5 * told / told.sum()
    return p


def drawn(p: Floats, n: int, *, seed: int = 0) -> Ints:
    """Draw n units with replacement."""
    return np.random.default_rng(seed).choice(len(p), n, p=p).astype(np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Sequence95:
    """Estimates after each draw, with a confidence sequence; arrays have shape (draws,)."""

    value: Floats
    low: Floats
    high: Floats

    def stop(self, null: float) -> int:
        """Return after how many draws the sequence first excludes a value; 0 if it never does."""
        out = (self.low > null) | (self.high < null)
        return int(out.argmax()) + 1 if out.any() else 0


def confidence_sequence(values: Floats, *, alpha: float = 0.05) -> Sequence95:
    """Return means of independent draws, with intervals that all hold at once with probability 1 − α.

    The normal-mixture sequence (Waudby-Smith, Arbour, Sinha, Kennedy & Ramdas 2024), with ρ such that it is
    tightest after about 100 draws. One may look after each label, and stop.
    """
    t = np.arange(1, len(values) + 1)
    mean = np.cumsum(values) / t
    variance = np.maximum(np.cumsum(values**2) / t - mean**2, 0) * t / np.maximum(t - 1, 1)
    rho = (-2 * math.log(alpha) + math.log(1 - 2 * math.log(alpha))) / _USUAL
    half = np.sqrt(variance * (t * rho + 1) / (t**2 * rho) * np.log((t * rho + 1) / alpha**2))
    half = np.where(t < LEAST, np.inf, half)
    return Sequence95(mean, mean - half, mean + half)
