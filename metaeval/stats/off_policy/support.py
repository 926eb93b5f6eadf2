"""Whether a log covers a policy's actions, and whether its propensities are right."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from metaeval.stats.coefficients.tables import Floats, Ints

THIN, OFTEN = 5, 20
"""An action that the policy would show ``OFTEN`` times or more, and the log shows fewer than ``THIN`` times,
is as good as not shown."""
WORST = 5
"""Standard errors beyond which the worst of many differences is no chance."""
_ENOUGH = 20  # showings from which an action's frequency is compared with its propensities


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


@dataclass(frozen=True, slots=True, eq=False)
class Showings:
    """What a log showed, by place (a position, a group of contexts) and action.

    Parameters
    ----------
    shown
        How often, shape (places, actions).
    inverse
        The sum of 1 / p over these showings; p is the logged propensity.
    squares
        The sum of 1 / p².
    """

    shown: Floats
    inverse: Floats
    squares: Floats

    def support(self, mass: Floats) -> Support:
        """Return how much of a policy is on actions that the log does not show.

        Chance leaves out actions that a log could have shown. If the propensities are right, the policy's
        mass on them is, in expectation, that of the actions shown once, each by its weight (after Good 1953).

        Parameters
        ----------
        mass
            Shape (places, actions): the policy's probabilities, summed over the rounds of a place, which is
            how often it would show the action.
        """
        total = mass.sum()
        n = np.maximum(self.shown.sum(axis=1, keepdims=True), 1)
        single = (mass * self.inverse / n)[self.shown == 1] / total
        thin = (self.shown < THIN) & (mass >= OFTEN)
        never = self.shown == 0
        return Support(
            float(mass[never].sum() / total),
            float(single.sum()),
            float(np.sqrt((single**2).sum())),
            float(mass[thin].sum() / total),
        )

    def misplaced(self, mass: Floats) -> float:
        """Return the share of a policy that logged propensities misplace, beyond chance.

        The mean of 1 / p over the rounds of a place, where an action was shown, and 0 elsewhere, has
        expectation 1 if p is the probability with which it was shown. How far it is off counts by the
        policy's mass on the action, if that is more than `WORST` standard errors, and the action was shown 20
        times or more.
        """
        n = np.maximum(self.shown.sum(axis=1, keepdims=True), 1)
        mean = self.inverse / n
        error = np.sqrt(np.maximum(self.squares / n - mean**2, 0.0) / n)
        off = np.abs(mean - 1)
        beyond = (off > WORST * error + 1e-9) & (self.shown >= _ENOUGH)
        return float((mass * off)[beyond].sum() / mass.sum())


def worst_imbalance(code: Ints, weight: Floats) -> tuple[float, float]:
    """Return the largest difference that weights make to the share of a category of the context.

    A context does not depend on the action, so that sound weights leave its distribution as it is.

    Parameters
    ----------
    code
        The category of each round, from 0.

    Returns
    -------
    off, z
        Of the category that is the furthest off chance: the weighted share less the share, in standard
        deviations of belonging to it, and in standard errors, contexts given. 0, 0 of a single category.
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
