"""Which units a cascade of judges decides, so that its agreement with people is guaranteed.

A judge decides the share t of units of which it is surest; the others go to the next judge, which decides
the share t of all units of which it is surest, and so on. As t rises from strict to loose, each cascade is
tested: is the agreement with people, among the units that it decides, above 1 − α? The t before the first
test that fails is taken, so each test is at level δ without a correction (fixed-sequence testing; Jung,
Brahman & Choi 2024). The test is on sums by cluster, since the units of a user depend on each other.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from metaeval.stats.coefficients.tables import Floats, Ints
from metaeval.stats.resampling.significance import FEWEST_CLUSTERS
from metaeval.stats.weighted.sums import Clusters

SHARES = np.linspace(0.05, 1.0, 20)
"""The shares t that are tested, from strict to loose."""
_START = 0.25
"""The tests start where the p-value of full agreement is at most this part of δ."""


def p_of_agreement(right: Floats, clusters: Clusters, target: float) -> float:
    """Test that the share of units that agree is above ``target``.

    Parameters
    ----------
    right
        1 for each unit that agrees, 0 for one that does not, shape (units,).
    clusters
        Of the units.
    target
        The least share.

    Returns
    -------
    float
        One-sided p-value of the mean over clusters of Σ(right − target), by t. A cluster of the usual size
        that disagrees throughout is added, so that a few clusters without an error prove nothing.
    """
    from scipy.special import stdtr

    sizes = np.bincount(clusters.of_unit, minlength=clusters.n).astype(np.float64)
    sizes, sums = sizes[sizes > 0], np.bincount(clusters.of_unit, right - target, clusters.n)[sizes > 0]
    n = len(sizes)
    if n < FEWEST_CLUSTERS:
        return 1.0
    apart = np.append(sums, -target * np.sqrt(np.mean(sizes**2)))
    error = apart.std(ddof=1) / np.sqrt(n + 1)
    if error == 0:
        return 1.0
    return float(stdtr(n - 1, -apart.mean() / error))


def ranks(confidence: Floats) -> Floats:
    """Return the share of units that are at least as sure as each; infinity where confidence is NaN."""
    there = ~np.isnan(confidence)
    found = np.full(len(confidence), np.inf)
    known = np.sort(-confidence[there])
    found[there] = np.searchsorted(known, -confidence[there], side="right") / len(confidence)
    return found


@dataclass(frozen=True, slots=True, eq=False)
class Cascade:
    """The cascade that was chosen, and those that were tested."""

    share: float
    """The share t that each judge decides; 0 if people must decide everything."""
    first: int
    """The first judge; those before it decide nothing."""
    route: Ints
    """Who decides each unit: the judge's position, or the number of judges for a person."""
    tested: tuple[dict[str, float], ...]
    """Of each cascade: ``first, share, agreement, people, p, n_units, n_clusters, cost``."""


def routed(ranked: Floats, share: float, first: int = 0) -> Ints:
    """Return who decides each unit, given the ranks of each judge's confidence, shape (judges, units)."""
    takes = ranked <= share + 1e-12
    takes[:first] = False
    return np.where(takes.any(axis=0), takes.argmax(axis=0), len(ranked))


def cascade(
    confidence: Floats,
    right: Floats,
    clusters: Clusters,
    *,
    alpha: float = 0.1,
    delta: float = 0.05,
    costs: Floats | None = None,
) -> Cascade:
    """Choose a cascade whose agreement with people is at least 1 − α with probability 1 − δ.

    Parameters
    ----------
    confidence, right
        Of each judge, in order, shape (judges, units): NaN where it gave nothing; ``right`` is 1 or 0, and
        NaN where there is no rating of people.
    clusters
        Of the units.
    alpha, delta
        The guarantee, among the units that are not handed to a person.
    costs
        Cost per unit of each judge; none, if left out.

    Returns
    -------
    Cascade
        Of the cascades that begin with each judge, each tested at δ / judges: the one that leaves the fewest
        units to people, and of these the cheapest.
    """
    judges, n = confidence.shape
    ranked = np.array([ranks(row) for row in confidence])
    price = np.zeros(judges) if costs is None else costs
    tested, best = [], (1.0, 0.0, 0.0, 0)
    for first in range(judges):
        started = failed = False
        for share in SHARES:
            route = routed(ranked, share, first)
            decided = np.flatnonzero(route < judges)
            agrees = right[route[decided], decided]
            known = ~np.isnan(agrees)
            held = clusters.take(decided[known])
            level = delta / judges
            started = started or p_of_agreement(np.ones(known.sum()), held, 1 - alpha) <= level * _START
            p = p_of_agreement(agrees[known], held, 1 - alpha)
            failed = failed or (started and p > level)
            # A unit costs what all judges cost that saw it: the first to the one that decides.
            asked = [price[first : who + 1].sum() for who in range(judges + 1)]
            cost, people = float(np.take(asked, route).mean()), 1 - len(decided) / n
            holds = started and not failed
            tested.append(
                {
                    "first": first,
                    "share": float(share),
                    "agreement": float(agrees[known].mean()) if known.any() else np.nan,
                    "people": people,
                    "p": p,
                    "n_units": int(known.sum()),
                    "n_clusters": len(np.unique(held.of_unit)),
                    "cost": np.nan if costs is None else cost,
                    "holds": float(holds),
                }
            )
            if holds:
                best = min(best, (people, cost, float(share), first))
    _, _, share, first = best
    return Cascade(share, first, routed(ranked, share, first), tuple(tested))
