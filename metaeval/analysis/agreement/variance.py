"""Variance components of truth and scores: users, items, generators, and the residual."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pandas as pd

from metaeval.base.counts import plural_of
from metaeval.base.keys import DATASET, PAIR, noun
from metaeval.base.simulation import REAL, Simulation
from metaeval.engine.alignment.prepared import Prepared
from metaeval.engine.sheet import Column, Sheet, by_aspect
from metaeval.stats.coefficients.tables import Ints, squarable
from metaeval.stats.regression.variance import MEAN, RESIDUAL, Design

TRUTH = "truth"
"""The first row."""


def variance(data: Prepared, *, simulated: Simulation = REAL) -> Sheet:
    """Split the variance of the truth and of each evaluator's scores among users, items and generators.

    There is a row for the truth and for each evaluator. Columns are shares of the variance
    (`metaeval.stats.regression.variance`, Henderson's method I, negative components as zero), averaged over
    aspects; the frame has every aspect too, in columns such as ``user: accuracy``. Factors that the data do
    not have are left out. The share is NaN where the data do not tell a component apart, or where values are
    constant.
    """
    factors: dict[str, Ints] = {noun(k): codes.astype(np.int64) for k, codes in data.keys.items()}
    called = {name: f"{plural_of(name)}" for name in factors}
    if PAIR in data.levels:
        (one, of_one), (other, of_other) = list(factors.items())[:2]
        pair = f"{one} × {other}"
        factors[pair] = of_one * len(data.labels[data.levels[PAIR].columns[1]]) + of_other
        called[pair] = f"pairs of {one} and {other}"
    names = [*factors, RESIDUAL]
    shares = np.full((1 + len(data.evaluators), len(data.aspects), len(names)), np.nan)
    designs: dict[bytes, Design] = {}
    for a in range(len(data.aspects)):
        values = np.stack([squarable(v) for v in (data.truth[a], *data.scores[:, a])])  # shares have no unit
        for rows, units in _alike(data, a):
            key = units.tobytes()
            if key not in designs:
                designs[key] = Design.of({name: codes[units] for name, codes in factors.items()})
            found = designs[key].decompose(values[rows][:, units]).shares
            for i, name in enumerate(names):
                shares[rows, a, i] = found[name]
    columns = by_aspect({name: shares[:, :, i] for i, name in enumerate(names)}, data.aspects)
    # A factor that shows nowhere has no column; the notes say why.
    shown = [name for i, name in enumerate(names) if not np.isnan(shares[:, :, i]).all()]
    return Sheet(
        "variance",
        "Variance components",
        pd.DataFrame({"evaluator": [TRUTH, *data.evaluators], **columns}),
        (
            Column("evaluator", "Evaluator"),
            *(Column(n, "Rest" if n == RESIDUAL else called[n].capitalize(), "share") for n in shown),
        ),
        tuple(_notes(data, called, list(designs.values()))),
        simulated,
    )


def _alike(data: Prepared, aspect: int) -> Iterator[tuple[list[int], Ints]]:
    """Group rows (0 is the truth, then the evaluators) by their units; yield rows and units."""
    entering = data.entering[:, aspect]
    masks = [entering.any(axis=0), *entering]
    by_mask: dict[bytes, list[int]] = {}
    for row, mask in enumerate(masks):
        if mask.any():
            by_mask.setdefault(mask.tobytes(), []).append(row)
    for same in by_mask.values():
        yield same, np.flatnonzero(masks[same[0]])


def _notes(data: Prepared, called: Mapping[str, str], designs: Sequence[Design]) -> list[str]:
    n, names = len(data.aspects), [*called, RESIDUAL]
    notes = [
        "Shares of the variance" + (f", means over {n} aspects" if n > 1 else "") + "; components that are "
        "estimated below zero (Henderson's method I) count as zero. Rest: all other differences, and noise."
    ]
    merged = {pair for design in designs for pair in design.merged.items()}
    for name, into in sorted(merged, key=lambda pair: names.index(pair[0])):
        if into == MEAN:
            notes.append(f"There is one of the {called[name]} only, so they have no variance component.")
        else:
            where = "the rest" if into == RESIDUAL else called[into]
            notes.append(
                f"The variance between {called[name]} cannot be separated from {where}, and is counted there."
            )
    lost = {name for design in designs for name in design.undetermined}
    if lost:
        listed = ", ".join("the rest" if n == RESIDUAL else called[n] for n in names if n in lost)
        notes.append(f"The data cannot separate these, so there are no shares: {listed}.")
    seen = [f"the {level} level sees {_seen(data, level)}" for level in data.policy.levels]
    notes.append(
        f"Levels see different parts: {'; '.join(seen)}. Variance that a level sees lowers its "
        "coefficients, unless evaluator and truth share it."
    )
    return notes


def _seen(data: Prepared, level: str) -> str:
    """Return what of the variance a level correlates."""
    if level == DATASET:
        return "all variance"
    if level in data.between:
        return f"mostly the variance between {plural_of(level)}, because it correlates their means"
    if level != PAIR:
        return f"all but the variance between {plural_of(level)}"
    one, other, *others = (noun(k) for k in data.keys)
    left = "".join(f"{plural_of(name)} and " for name in others)
    return f"only the variance within one {one} and {other} ({left}rest)"
