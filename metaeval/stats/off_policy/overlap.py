"""How far a log overlaps with what it is weighted to: propensities, weights, balance and support.

A row has the propensity p and the weight w = π / p, where π is what the evaluated policy would have done. If
the propensities are right and none is 0, the weights of a bin add up to the policy's own mass in it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from metaeval.stats.coefficients.tables import Floats, Ints
from metaeval.stats.resampling.cluster_sums import ratio

THIN, OFTEN = 5, 20
"""An action that the policy would show ``OFTEN`` times or more, and the log shows fewer than ``THIN`` times,
is as good as not shown."""
WORST = 5
"""Standard errors beyond which the worst of many differences is no chance."""
_ENOUGH = 20  # showings from which an action's frequency is compared with its propensities


@dataclass(frozen=True, slots=True)
class WeightTotals:
    """What the weights of a log, or of a bin of it, add up to."""

    expected: float
    """What ``total`` should be, such as the rounds; 0 if that is not known."""
    total: float
    squares: float
    largest: float
    error: float = np.nan
    """Standard error of the mean weight, clusters drawn at random."""

    @property
    def mean(self) -> float:
        """The mean weight, whose expectation is 1 if the log could show what the policy would."""
        return self.total / self.expected if self.expected else np.nan

    @property
    def effective(self) -> float:
        """The effective sample size, (Σw)² / Σw² (Kish 1965)."""
        return self.total**2 / self.squares if self.squares else 0.0

    @property
    def largest_share(self) -> float:
        """The share of all weight that the largest one has."""
        return self.largest / self.total if self.total else 0.0


def balance(values: Floats, rows: Floats, weight: Floats, target: Floats) -> tuple[Floats, Floats]:
    """Return standardised mean differences of covariates without and with weights, shape (covariates,) each.

    They are log less target in the target's standard deviations; NaN for a covariate that does not vary.
    ``values``, shape (units, covariates), are of units such as items; ``rows`` says how many rows of the log
    are about each, ``weight`` what their weights add up to, ``target`` how much it counts where the log is
    weighted to.
    """
    mean = target @ values / target.sum()
    spread = np.sqrt(np.maximum(target @ (values - mean) ** 2 / target.sum(), 0.0))
    before, after = (ratio(w @ values / w.sum() - mean, spread) for w in (rows, weight))
    return before, after


class Support(NamedTuple):
    """Shares of a policy's mass."""

    unshown: float
    """On actions that the log never shows at that place."""
    by_chance: float
    """What chance would leave out, estimated."""
    error: float
    """Its standard error."""
    thin: float
    """On actions that the policy would show often (`OFTEN`), and the log hardly does (`THIN`)."""
    misplaced: float
    """What logged propensities misplace, beyond chance."""


UNKNOWN = Support(*[np.nan] * 5)
"""Of a policy of which only the probabilities of the logged actions are known."""


def support_of(shown: Floats, inverse: Floats, squares: Floats, mass: Floats) -> Support:
    """Return how much of a policy is on actions that a log does not show, or shows with wrong propensities.

    Chance leaves out actions that a log could have shown. If the propensities are right, the policy's mass on
    them is, in expectation, that of the actions shown once, each by its weight (after Good 1953).

    The mean of 1 / p over the rounds of a place, where an action was shown, and 0 elsewhere, has expectation
    1 if p is the probability with which it was shown. How far it is off counts by the policy's mass on the
    action, if that is more than `WORST` standard errors, and the action was shown 20 times or more.

    All have the shape (places, actions), a place being a position or a group of contexts: how often the log
    shows the action, the sums of 1 / p and of 1 / p² over these rounds, p the logged propensity, and the
    policy's probabilities, summed over the rounds of the place.
    """
    total, n = mass.sum(), np.maximum(shown.sum(axis=1, keepdims=True), 1)
    mean = inverse / n
    single = (mass * inverse / n)[shown == 1] / total
    thin = (shown < THIN) & (mass >= OFTEN)
    error = np.sqrt(np.maximum(squares / n - mean**2, 0.0) / n)
    off = np.abs(mean - 1)
    beyond = (off > WORST * error + 1e-9) & (shown >= _ENOUGH)
    shares = (
        mass[shown == 0].sum() / total,
        single.sum(),
        np.sqrt((single**2).sum()),
        mass[thin].sum() / total,
        (mass * off)[beyond].sum() / total,
    )
    return Support(*map(float, shares))


def worst_imbalance(code: Ints, weight: Floats) -> tuple[float, float]:
    """Return the largest difference that weights make to the share of a category of the context.

    A context does not depend on the action, so that sound weights leave its distribution as it is. ``code``
    is the category of each round, from 0. The two numbers are of the category that is the furthest off
    chance: the weighted share less the share, in standard deviations of belonging to it, and in standard
    errors, contexts given; 0, 0 of a single category.
    """
    mean = weight.mean()
    count, total, squares = (np.bincount(code, by) for by in (None, weight, (weight - mean) ** 2))
    share, weighted = count / count.sum(), total / max(total.sum(), 1e-300)
    spread = np.sqrt(share * (1 - share))
    # Linearised: squares of what a weight is off their mean, times 1 - s in the category and s outside it.
    error = np.sqrt(squares * (1 - 2 * share) + share**2 * squares.sum()) / max(total.sum(), 1e-300)
    there = (spread > 0) & (error > 0)
    z = np.divide(weighted - share, error, where=there, out=np.zeros_like(error))
    worst = int(np.abs(z).argmax())
    return (float((weighted - share)[worst] / spread[worst]), float(z[worst])) if there.any() else (0.0, 0.0)
