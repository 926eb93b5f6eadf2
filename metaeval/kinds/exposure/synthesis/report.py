"""What is to be known of synthetic interactions before they are used: tables, sheets and a figure."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from metaeval.base.records import FIRST
from metaeval.base.simulation import Simulation
from metaeval.engine.figures.figure import Figure
from metaeval.engine.figures.style import BLUE, FILLING, GREEN, GREY, ORANGE, layer, nominal, number
from metaeval.engine.sheet import Column, Sheet
from metaeval.kinds.exposure.synthesis.distances import distances_of, nearest_of

if TYPE_CHECKING:
    from metaeval.kinds.exposure.data.log_set import LogSet
    from metaeval.kinds.exposure.synthesis.synthesizer import Synthesis
    from metaeval.stats.coefficients.tables import Floats, Ints

TAIL = 2
"""Popularity bins that are the tail: the last ones."""
_NOTES = (
    (
        "Accepted: the share of new candidates that passed the constraints. Filled: the share of wanted "
        "steps that got an item. Tail: the two least popular bins."
    ),
    (
        "Transitions: the distance between the genres that follow a genre and those of the real "
        "interactions, the mean over genres; for comparison, the distance between two halves of the real "
        "users."
    ),
    (
        "Nearest: the cosine between a user's sequence and the most similar other real user; for "
        "comparison, the same for as many last real items of the user. Nearer: sequences with a higher "
        "cosine than the real items. Contained: one other user has all items of the sequence; the same: and "
        "no others."
    ),
    "Synthetic interactions are not behaviour of people. They never enter a truth.",
)


def shares_by_bin(items: Ints, bins: Ints) -> Floats:
    """Return the share of each popularity bin among rows of items."""
    count = np.bincount(bins[items], minlength=int(bins.max()) + 1)
    return np.asarray(count / max(1, count.sum()))


def tail_share(shares: Floats) -> float:
    """Return the share of the least popular bins."""
    return float(shares[-TAIL:].sum())


def curve_frame(made: Synthesis) -> pd.DataFrame:
    """Return the exposure curve: the share of each popularity bin in log, target and synthetic rows."""
    log = made.known.of.item
    columns = {
        "log": shares_by_bin(log, made.bins),
        "target": made.target,
        "synthetic": shares_by_bin(made.item, made.bins),
        "both": shares_by_bin(np.concatenate([log, made.item]), made.bins),
    }
    return pd.DataFrame({"bin": np.arange(len(made.target)), **columns})


def tail_of_pairs(data: LogSet, made: Synthesis) -> float:
    """Return the share of pairs whose first item is of the tail."""
    items = made.known.of.items.get_indexer(pd.Index(data.table[FIRST]))
    return tail_share(shares_by_bin(items, made.bins))


def synthesis_frame(made: Synthesis, *pairs: LogSet) -> pd.DataFrame:
    """Return what is measured of synthetic interactions, and what it is to be compared with: a row each.

    Parameters
    ----------
    *pairs
        The log with its own pairs, and with those that follow the synthetic exposure.
    """
    distance, halves = distances_of(made)
    nearest, real = nearest_of(made)
    nearer = np.mean(nearest.cosine > real.cosine) if len(nearest.user) else np.nan
    against = "real items"
    rows: list[tuple[str, float, float, str]] = [
        ("interactions", len(made.item), made.wanted, "wanted"),
        ("accepted", made.accepted, np.nan, ""),
        ("filled", len(made.item) / max(1, made.wanted), np.nan, ""),
        ("tail", tail_share(shares_by_bin(made.item, made.bins)), tail_share(made.target), "target"),
        ("passed by transition", float(made.by_transition.mean()), np.nan, ""),
        ("passed by similarity", float(made.by_similarity.mean()), np.nan, ""),
        ("transitions: total variation", distance.total_variation, halves.total_variation, "two halves"),
        ("transitions: Jensen-Shannon", distance.jensen_shannon, halves.jensen_shannon, "two halves"),
        (
            "nearest real user: median",
            float(np.median(nearest.cosine)),
            float(np.median(real.cosine)),
            against,
        ),
        ("nearer than real items", float(nearer), 0.5, "no difference"),
        ("contained in a real user", float(nearest.contained.mean()), float(real.contained.mean()), against),
        ("the same as a real user", float(nearest.same.mean()), float(real.same.mean()), against),
    ]
    if pairs:
        before, after = (tail_of_pairs(data, made) for data in pairs)
        rows.insert(4, ("tail of the pairs judged", after, before, "before"))
    return pd.DataFrame(rows, columns=["measure", "value", "against", "of"])


def synthesis_sheets(measures: pd.DataFrame, curve: pd.DataFrame, *, simulated: bool) -> list[Sheet]:
    """Lay out `synthesis_frame` and `curve_frame`."""
    columns = (
        Column("measure", "Measure"),
        Column("value", "Value", "number"),
        Column("against", "Against", "number"),
        Column("of", "of"),
    )
    unreal = Simulation(simulated)
    return [
        Sheet("synthesis", "Synthetic interactions", measures, columns, _NOTES, unreal),
        _curve_sheet(curve, unreal),
    ]


def _curve_sheet(curve: pd.DataFrame, simulated: Simulation) -> Sheet:
    columns = (
        Column("bin", "Popularity bin", "counts"),
        *(Column(name, name.capitalize(), "share") for name in ("log", "target", "synthetic", "both")),
    )
    note = (
        "Bin 0 has the items with the most rows. Both: the rows of the log and the synthetic ones together."
    )
    return Sheet("exposure_curve", "Exposure by popularity", curve, columns, (note,), simulated)


def curve_figure(curve: pd.DataFrame, *, simulated: bool) -> Figure:
    """Return the exposure curve as lines over the popularity bins."""
    long = curve.melt("bin", ["log", "target", "synthetic", "both"], "of", "share")
    sheet = _curve_sheet(curve, Simulation(simulated))
    columns = (
        Column("bin", "Popularity bin", "counts"),
        Column("of", "Of"),
        Column("share", "Share", "share"),
    )
    names = ["log", "target", "synthetic", "both"]
    colours = {"domain": names, "range": [GREY, ORANGE, BLUE, GREEN]}
    encoding = {
        "x": nominal("bin", title="popularity bin, the most popular first", sort=None),
        "y": number("share", title="share of exposures", scale={"zero": True}, axis={"format": "%"}),
        "color": nominal("of", title=None, scale=colours, sort=names),
    }
    chart = {
        **FILLING,
        "height": 260,
        "description": sheet.title,
        "layer": [layer("line", encoding), layer("point", encoding, filled=True)],
    }
    return Figure(replace(sheet, frame=long, columns=columns), chart)
