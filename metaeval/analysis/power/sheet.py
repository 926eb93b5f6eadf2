"""How many users a study needs, as a table."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from metaeval.analysis.power.sizes import ENOUGH
from metaeval.base.counts import plural_of
from metaeval.base.keys import ITEM
from metaeval.base.simulation import REAL
from metaeval.engine.sheet import Column, Sheet

if TYPE_CHECKING:
    from metaeval.analysis.power.sizes import Power
    from metaeval.base.simulation import Simulation

_ENOUGH = f"{100 * ENOUGH:.0f} %"


def power_sheet(found: Power, *, simulated: Simulation = REAL) -> Sheet:
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
        simulated.among((found.first, found.second)),
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
