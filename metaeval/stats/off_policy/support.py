"""Where a log shows what a policy would do, and whether its propensities are those that made it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from metaeval.stats.coefficients.tables import Floats, Ints

THIN = 5
"""Showings below which an action is as good as not shown."""
WORST = 5
"""Standard errors beyond which the worst of many differences is no chance."""
_ENOUGH = 20  # showings from which an action's frequency is held against its propensities


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

    def unshown(self, mass: Floats, *, below: int = 1) -> float:
        """Return the share of a policy's mass on actions that a place showed fewer than ``below`` times.

        Parameters
        ----------
        mass
            Shape (places, actions): the policy's probabilities, summed over the rounds of a place.
        """
        return float(mass[self.shown < below].sum() / mass.sum())

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
        Of the category with the largest |z|: the weighted share less the share, in standard deviations of
        belonging to it, and in standard errors, contexts given. 0, 0 if there is but one category.
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
