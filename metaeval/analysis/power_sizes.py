"""How many users a study needs: interval widths and power against its size, from resampling a run."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from metaeval.analysis.substudies import Pair, substudies
from metaeval.base.counts import counted, plural_of
from metaeval.base.errors import MetaevalError, one_of
from metaeval.base.keys import ITEM
from metaeval.base.progress import progress
from metaeval.base.records import AVERAGE
from metaeval.engine.alignment.policy import allowed, whole_number
from metaeval.engine.alignment.prepared import Prepared
from metaeval.engine.correlation import estimates
from metaeval.engine.sheet import Column, Sheet
from metaeval.stats.coefficients.tables import Floats
from metaeval.stats.resampling.significance import few_note
from metaeval.stats.resampling.weights import one_thread, percentile_interval

ENOUGH = 0.8
"""The power that is usually asked for."""
_FARTHEST = 10  # times the users of the run: larger studies cannot be simulated from them
_LEVEL = 0.05
_CONFIDENCE = 1 - _LEVEL


@dataclass(frozen=True, slots=True)
class StudySize:
    """Expected precision and power of a study of one size."""

    users: int
    units: int | None
    """Units per user; None if each keeps all of its own."""
    extrapolated: bool
    """Whether there are more users than in the run."""
    width_first: float
    """Width of the 95 % interval of the first evaluator's estimate; NaN where it is mostly undefined."""
    width_second: float
    width_difference: float
    power: float
    """Chance to find the run's difference at the two-sided 5 % level."""
    detectable: float
    """The smallest difference that would be found with a power of 80 %."""
    n_undefined: int
    """Studies in which the difference is undefined; they find nothing."""


@dataclass(frozen=True, slots=True)
class Power:
    """Expected precision and power of studies of several sizes that compare two evaluators."""

    first: str
    second: str
    aspect: str
    level: str
    coefficient: str
    cluster: str
    """What is drawn: ``user``, or ``item`` where the data name no users."""
    n_clusters: int
    estimates: tuple[float, float]
    """The two evaluators in the run."""
    studies: int
    seed: int
    sizes: tuple[StudySize, ...]

    @property
    def difference(self) -> float:
        """The first evaluator's estimate minus the second's."""
        return self.estimates[0] - self.estimates[1]

    @property
    def frame(self) -> pd.DataFrame:
        """A row per size: the fields of `StudySize`, and what was compared."""
        rows = pd.DataFrame([{name: getattr(s, name) for name in StudySize.__slots__} for s in self.sizes])
        rows["units"] = rows["units"].astype("Int64")
        asked = ("first", "second", "aspect", "level", "coefficient", "difference", "studies", "seed")
        return rows.assign(**{name: getattr(self, name) for name in asked})


@one_thread()
def power(
    data: Prepared,
    evaluators: tuple[str, str] | None = None,
    *,
    aspect: str = AVERAGE,
    users: Sequence[int] | None = None,
    units: Sequence[int] | None = None,
    studies: int = 2000,
    seed: int = 0,
) -> Power:
    """Simulate studies of several sizes that compare two evaluators.

    A study draws users with replacement and, if ``units`` is given, so many units of each user without
    replacement. Both evaluators are scored on the same draw. The width is that of the central 95 % of the
    studies' estimates. The power is the share of studies whose difference is beyond the central 95 % of
    |difference - mean difference|: an approximation that takes the run's difference as the true one.

    Parameters
    ----------
    data
        One level and one coefficient.
    evaluators, aspect
        Two names (the best and the second best of the run, if left out); an aspect, or ``average``, the mean
        over all of them in the same draw.
    users, units
        How many users a study has, at most 10 times those of the run (10, 20 and 1, 2, 4 and 8 times those of
        the run, if left out), and how many units of each it keeps (all, if left out).

    Raises
    ------
    MetaevalError
        For an unknown name, a size that cannot be simulated, or an evaluator without an estimate.
    """
    whole_number("studies", studies, least=100)
    whole_number("seed", seed)
    allowed("aspect", [aspect], [*data.aspects, AVERAGE])
    aspects = range(len(data.aspects)) if aspect == AVERAGE else [data.aspects.index(aspect)]
    of_aspects = estimates(data)[data.policy.levels[0], data.policy.coefficients[0]].estimate
    of_evaluators = of_aspects.reshape(-1, len(data.aspects))[:, list(aspects)].mean(axis=1)
    chosen = _chosen(data, of_evaluators, evaluators)
    pair = Pair.of(data, chosen, aspects, data.cluster_name())
    users_wanted, units_wanted = _sizes(pair, users, units)
    sizes = []
    with progress("power", len(users_wanted) * len(units_wanted)) as advance:
        for kept in units_wanted:
            simulated = substudies(pair, kept, seed)
            for n in users_wanted:
                replicates = simulated.replicates(n, studies, seed)
                sizes.append(_size(replicates, n, kept, n > pair.clusters.n))
                advance()
    one, other = chosen
    return Power(
        first=data.evaluators[one],
        second=data.evaluators[other],
        aspect=aspect,
        level=data.policy.levels[0],
        coefficient=data.policy.coefficients[0],
        cluster=pair.cluster,
        n_clusters=pair.clusters.n,
        estimates=(float(of_evaluators[one]), float(of_evaluators[other])),
        studies=studies,
        seed=seed,
        sizes=tuple(sizes),
    )


def _chosen(data: Prepared, found: Floats, names: tuple[str, str] | None) -> tuple[int, int]:
    if names is None:
        defined = np.flatnonzero(~np.isnan(found))
        if len(defined) < 2:
            raise MetaevalError(
                f"the run has {counted(len(defined), 'evaluator')} with an estimate here; "
                "two are needed to compare them"
            )
        best = defined[np.argsort(-found[defined], kind="stable")[:2]]
        return int(best[0]), int(best[1])
    for name in names:
        one_of(name, data.evaluators, "the run has no evaluator")
    if names[0] == names[1]:
        raise MetaevalError(f"{names[0]} cannot be compared with itself; give two different evaluators")
    one, other = map(data.evaluators.index, names)
    for e in (one, other):
        if np.isnan(found[e]):
            raise MetaevalError(
                f"{data.evaluators[e]} has no defined estimate here; give another evaluator or aspect"
            )
    return one, other


def _sizes(
    pair: Pair, users: Sequence[int] | None, units: Sequence[int] | None
) -> tuple[list[int], list[int | None]]:
    """Check the sizes that are asked for, or choose them."""
    n, fewest = pair.clusters.n, int(pair.sizes.min())
    if n < 2:
        raise MetaevalError(f"the run has one {pair.cluster} only; resampling needs two or more")
    if users is None:
        users = [m for m in (10, 20, n, 2 * n, 4 * n, 8 * n) if m <= _FARTHEST * n]
    for m in users:
        if not 2 <= m <= _FARTHEST * n:
            raise MetaevalError(
                f"{m} {plural_of(pair.cluster)} cannot be simulated from the {n} of the run; "
                f"give numbers from 2 to {_FARTHEST * n}"
            )
    for k in units or ():
        if not 1 <= k <= fewest:
            raise MetaevalError(
                f"{k} units per {pair.cluster} cannot be drawn: the one with the fewest has {fewest}; "
                f"give numbers from 1 to {fewest}"
            )
    kept: list[int | None] = [*sorted(set(units))] if units else [None]
    return sorted(set(users)), kept


def _size(replicates: Floats, users: int, units: int | None, extrapolated: bool) -> StudySize:
    """Sum up the studies of one size; ``replicates`` has shape (2, studies)."""
    difference = replicates[0] - replicates[1]
    low, high = percentile_interval(np.stack([*replicates, difference]), _CONFIDENCE)
    widths = (high - low).tolist()
    undefined = np.isnan(difference)
    found, detectable = np.nan, np.nan
    if not np.isnan(widths[2]):
        seen = difference[~undefined]
        null = seen - seen.mean()
        critical = float(np.quantile(np.abs(null), _CONFIDENCE))
        found = float((np.abs(seen) > critical).sum() / len(difference))
        detectable = critical - float(np.quantile(null, 1 - ENOUGH))
    return StudySize(
        users=users,
        units=units,
        extrapolated=extrapolated,
        width_first=widths[0],
        width_second=widths[1],
        width_difference=widths[2],
        power=found,
        detectable=detectable,
        n_undefined=int(undefined.sum()),
    )


_ENOUGH = f"{100 * ENOUGH:.0f} %"


def power_sheet(found: Power) -> Sheet:
    """Return the table of widths and power by the size of a study."""
    columns = (
        Column("users", f"{found.cluster.capitalize()}s", "count"),
        *([Column("units", f"Units per {found.cluster}", "count")] if found.sizes[0].units else []),
        Column("extrapolated", "Extrapolated"),
        Column("width_first", f"Width, {found.first}", "hundred"),
        Column("width_second", f"Width, {found.second}", "hundred"),
        Column("width_difference", "Width, difference", "hundred"),
        Column("power", "Power", "share"),
        Column("detectable", "Detectable difference", "hundred"),
    )
    return Sheet(
        "power",
        f"Studies that compare {found.first} with {found.second}",
        found.frame,
        columns,
        tuple(_notes(found)),
    )


def _notes(found: Power) -> list[str]:
    who = f"{plural_of(found.cluster)}"
    one, other = (f"{100 * e:.2f}" for e in found.estimates)
    kept = ", and of each some units without" if found.sizes[0].units else ""
    what = f"{found.coefficient.capitalize()} at {found.level} level, {found.aspect}, × 100"
    run = f"{found.first} {one}, {found.second} {other}, difference {100 * found.difference:.2f}"
    drawn = f"which draw {who} with replacement from the {found.n_clusters} of the run{kept}"
    beyond = "beyond the two-sided 5 % limits of the studies' differences centred at zero"
    notes = [
        f"{what}: {run}.",
        f"Each row is {found.studies:,} simulated studies (seed {found.seed}), {drawn}.",
        "Both evaluators use the same draws.",
        (
            "Width: that of the central 95 % of the studies' estimates, which is about the width of a 95 % "
            "interval."
        ),
        f"Power: the share of studies whose difference is {beyond}.",
        "Power is an approximation; it treats the run's difference as the true one.",
        f"Detectable difference: the smallest true difference with a power of {_ENOUGH}.",
    ]
    if found.cluster == ITEM:
        notes.append("The data have no users: items replace them.")
    if any(s.extrapolated for s in found.sizes):
        notes.append(
            f"More than {found.n_clusters} {who} are an extrapolation, which assumes new ones like those of "
            "the run."
        )
        if found.level == ITEM and found.cluster != ITEM:
            notes.append("They add no items; if new users bring new items, these widths are too narrow.")
    if found.level == "pair" and any(s.units for s in found.sizes):
        notes.append(
            "Units are drawn one by one, which splits pairs of user and item: a study of whole pairs has "
            "narrower intervals."
        )
    if most := max(s.n_undefined for s in found.sizes):
        notes.append(
            f"The difference is undefined in up to {most:,} studies of a row; these count as not significant."
        )
    if few := few_note(found.n_clusters, found.cluster):
        return [f"{few} This table cannot say how many are enough.", *notes]
    return [*notes, *_enough(found)]


def _enough(found: Power) -> list[str]:
    """Return a note per number of units: how many users are enough."""
    notes = []
    for kept, group in itertools.groupby(found.sizes, key=lambda s: s.units):
        at = f" with {kept} units each" if kept else ""
        enough = [s.users for s in group if s.power >= ENOUGH]
        if enough:
            least = (
                f"The fewest {plural_of(found.cluster)} of the table with a power of {_ENOUGH} or more{at}"
            )
            notes.append(f"{least}: {enough[0]:,}.")
        else:
            notes.append(
                f"No number of {plural_of(found.cluster)} of the table reaches a power of {_ENOUGH}{at}."
            )
    return notes
