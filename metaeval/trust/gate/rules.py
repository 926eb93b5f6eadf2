"""Thresholds of a gate: the lowest mean and the largest drop by aspect and category, and the errors."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from metaeval.base.errors import MetaevalError, exact, nearest
from metaeval.stats.resampling.significance import FEWEST_CLUSTERS

EVERY = "*"
"""The key of a threshold for every aspect without one of its own."""
ALPHA = 0.05
MAX_MISSING = 0.05


@dataclass(frozen=True, slots=True)
class Rules:
    """Thresholds by ``aspect/category``, by aspect, or by `EVERY`; the most specific one holds."""

    least: Mapping[str, float] = field(default_factory=dict)
    """The mean score that a cell must have."""
    max_drop: Mapping[str, float] = field(default_factory=dict)
    """How far the mean may be below the baseline's: the margin of non-inferiority."""
    alpha: float = ALPHA
    max_missing: float = MAX_MISSING
    """The share of the units that may lack a score for a cell to pass."""

    def __post_init__(self) -> None:
        if not 0 < self.alpha < 0.5:
            raise MetaevalError(f"alpha is {self.alpha!r}; give a number above 0 and below 0.5")
        if not 0 <= self.max_missing < 1:
            raise MetaevalError(
                f"the share that may be missing is {self.max_missing!r}; give a number from 0 to 1"
            )
        for key, drop in self.max_drop.items():
            if not drop > 0:
                raise MetaevalError(
                    f"the largest drop of {key!r} is {exact(drop)}; give a number above 0: "
                    "no sample can show that there is no drop at all"
                )

    def least_of(self, aspect: str, category: str) -> float | None:
        """Return the lowest mean allowed in a cell, None without one; category "" is the whole aspect."""
        return _of(self.least, aspect, category)

    def max_drop_of(self, aspect: str, category: str) -> float | None:
        """Return the largest drop that is allowed in a cell."""
        return _of(self.max_drop, aspect, category)

    def check_names(self, cells: Sequence[tuple[str, str]]) -> None:
        """Raise `MetaevalError` if a threshold is of none of the cells."""
        known = [EVERY, *dict.fromkeys(a for a, _ in cells), *(f"{a}/{c}" for a, c in cells if c)]
        for key in (*self.least, *self.max_drop):
            if key not in known:
                hint = nearest(key, known)
                raise MetaevalError(
                    f"there is nothing called {key!r} to check{hint} (allowed: {', '.join(known)})"
                )


def _of(thresholds: Mapping[str, float], aspect: str, category: str) -> float | None:
    keys = (_name(aspect, category), aspect, EVERY)
    return next((thresholds[k] for k in keys if k in thresholds), None)


def read_thresholds(given: Iterable[str], option: str) -> dict[str, float]:
    """Read thresholds: ``aspect=4.2``, ``aspect/category=4.2``, or ``4.2`` for all; else `MetaevalError`."""
    found: dict[str, float] = {}
    for text in given:
        name, _, number = text.rpartition("=")
        key = name.strip() or EVERY
        try:
            value = float(number)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise MetaevalError(
                f"{option} {text!r} is not a threshold; give a number, or one for an aspect as in ASPECT=4.2"
            )
        if key in found:
            raise MetaevalError(
                f"{option} gives {'all aspects' if key == EVERY else key} twice; give it once"
            )
        found[key] = value
    return found


def joined(asked: Rules, kept: Rules, cells: Sequence[tuple[str, str]], where: str) -> Rules:
    """Return the rules of a baseline file, raised to what the command line asks for.

    Thresholds are lowered in the file (named ``where``) alone, where the change is seen; `MetaevalError` if
    less is ``asked`` for than is ``kept`` there.
    """
    asked.check_names(cells)
    for less in lowered(asked, kept, cells):
        raise MetaevalError(
            f"{less} is less strict than {where}: thresholds are lowered only in that file, where the "
            "change is visible; change it there, or leave the option out"
        )
    least, max_drop = {**kept.least}, {**kept.max_drop}
    for cell in cells:
        for into, bound in ((least, asked.least_of(*cell)), (max_drop, asked.max_drop_of(*cell))):
            if bound is not None:
                into[_name(*cell)] = bound
    return Rules(least, max_drop, asked.alpha, asked.max_missing)


def lowered(new: Rules, old: Rules, cells: Sequence[tuple[str, str]]) -> list[str]:
    """Return which thresholds are lower than before: ``a mean of 4 for clarity instead of 4.2``."""
    found = []
    for cell in cells:
        for what, now, then, sign in (
            ("a mean of", new.least_of(*cell), old.least_of(*cell), 1),
            ("a drop of up to", new.max_drop_of(*cell), old.max_drop_of(*cell), -1),
        ):
            if now is not None and then is not None and sign * now < sign * then:
                found.append(f"{what} {now:g} for {_name(*cell)} instead of {then:g}")
    if new.alpha > old.alpha:
        found.append(f"an alpha of {new.alpha:g} instead of {old.alpha:g}")
    if new.max_missing > old.max_missing:
        found.append(f"a share of {new.max_missing:g} without a score instead of {old.max_missing:g}")
    return found


def _name(aspect: str, category: str) -> str:
    return f"{aspect}/{category}" if category else aspect


_ROUNDING = 1e-12  # relative spread below which all values are equal
POWER = 0.8


@dataclass(frozen=True, slots=True)
class ClusterMean:
    """The mean of clustered units, with its standard error."""

    value: float
    """NaN without a unit."""
    se: float
    """Standard error (CR2); NaN for fewer than two clusters."""
    df: float
    """Degrees of freedom of Student's t: with clusters of one size, n_clusters - 1."""
    n_units: int
    n_clusters: int
    least: float
    """The lowest and the highest value that a unit can have."""
    most: float

    def p_above(self, bound: float) -> float:
        """Return the p-value of the mean being no higher than a bound: small if it is above."""
        return self._p(self.value - bound, self.value - self.least)

    def p_below(self, bound: float) -> float:
        """Return the p-value of the mean being no lower than a bound: small if it is below."""
        return self._p(bound - self.value, self.most - self.value)

    def _p(self, beyond: float, room: float) -> float:
        """Return the p-value of a mean that lies ``beyond`` a bound, with ``room`` to its end of the scale.

        If all G clusters are alike there is no standard error. But for the true mean to be at the bound, a
        share s of all clusters must differ, and none is among the G with probability (1 - s)^G ('rule of
        three', Hanley & Lippman-Hand 1983, JAMA 249, 1743).
        """
        from scipy.special import stdtr

        if math.isnan(self.se):
            return math.nan
        if self.se > 0:
            return float(stdtr(self.df, -beyond / self.se))
        if beyond <= 0:
            return 1.0
        return float(max(0.0, 1 - beyond / room) ** self.n_clusters) if room > 0 else 0.0

    def ends(self, alpha: float) -> tuple[float, float]:
        """Return one-sided lower and upper bounds at level alpha: an interval of confidence 1 - 2 alpha.

        NaN of few clusters.
        """
        from scipy.special import stdtrit

        if math.isnan(self.se) or self.n_clusters < FEWEST_CLUSTERS:
            return math.nan, math.nan
        if self.se > 0:
            away = float(stdtrit(self.df, 1 - alpha)) * self.se
            return max(self.least, self.value - away), min(self.most, self.value + away)
        share = 1 - alpha ** (1 / self.n_clusters)
        return self.value - share * (self.value - self.least), self.value + share * (self.most - self.value)

    def smallest_effect(self, alpha: float) -> float:
        """Return the smallest distance from a bound that a test detects with 80 % power.

        (t at 1 - alpha + t at the power) · standard error (Bloom 1995, Evaluation Review 19, 547); NaN where
        all clusters are alike.
        """
        from scipy.special import stdtrit

        if not self.se > 0:
            return math.nan
        return float(stdtrit(self.df, 1 - alpha) + stdtrit(self.df, POWER)) * self.se


def cluster_mean(values: ArrayLike, cluster: ArrayLike, *, least: float, most: float) -> ClusterMean:
    """Return the mean over units, with its cluster-robust standard error.

    Parameters
    ----------
    values
        Shape (n,), finite.
    cluster
        Shape (n,): any labels.
    least, most
        The lowest and the highest value that a unit can have.

    Notes
    -----
    With w the share of the units that are in cluster c, and e the sum of its units' deviations from the mean,
    the variance is Σ e² / (1 - w) / n², and the degrees of freedom are 1 / (Σ w² + (Σ q)² - Σ q²) with
    q = w² / (1 - w): Bell & McCaffrey's for a regression on a constant, under independent units.
    """
    y = np.asarray(values, dtype=np.float64)
    if y.ndim != 1 or not np.isfinite(y).all():
        raise ValueError("values must be finite and in one dimension")
    _, code, sizes = np.unique(np.asarray(cluster), return_inverse=True, return_counts=True)
    n, g = y.size, sizes.size
    if n == 0:
        return ClusterMean(math.nan, math.nan, math.nan, 0, 0, least, most)
    # Exact, so that the mean does not depend on the order of units, and equal values have no spread.
    mean = math.fsum(y.tolist()) / n
    if g < 2:
        return ClusterMean(mean, math.nan, math.nan, n, g, least, most)
    w = sizes / n
    e = np.bincount(code, y - mean, g)
    se = math.sqrt(float((e**2 / (1 - w)).sum())) / n
    if se <= _ROUNDING * max(1.0, float(np.abs(y).max())):
        se = 0.0
    q = w**2 / (1 - w)
    df = 1 / float((w**2).sum() + q.sum() ** 2 - (q**2).sum())
    return ClusterMean(mean, se, df, n, g, least, most)
