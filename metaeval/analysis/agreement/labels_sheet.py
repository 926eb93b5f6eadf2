"""The leaderboard of evaluators that gave labels: kappa at every cut, alpha, how often each label came."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Protocol

import pandas as pd

from metaeval.analysis.agreement.labels import MEASURES, alpha_name, cut_name
from metaeval.base.records import Status
from metaeval.base.simulation import REAL
from metaeval.engine.sheet import Column, Sheet

if TYPE_CHECKING:
    from collections.abc import Sequence

    from metaeval.analysis.agreement.labels import Agreement
    from metaeval.base.simulation import Simulation

PEOPLE = "(people)"
"""The row with the truth's own labels."""


class _OfAspect(Protocol):
    @property
    def aspect(self) -> str: ...


def heads(rows: Sequence[_OfAspect]) -> tuple[Column, ...]:
    """Return the columns that name a row: the evaluator and, if there are several, the aspect."""
    evaluator = Column("evaluator", "Evaluator")
    return (evaluator, Column("aspect", "Aspect")) if len({one.aspect for one in rows}) > 1 else (evaluator,)


def falling(value: float) -> tuple[bool, float]:
    """Return a key that sorts from the highest to the lowest, NaN last."""
    return (True, 0.0) if math.isnan(value) else (False, -value)


def label_sheet(found: Sequence[Agreement], *, simulated: Simulation = REAL) -> Sheet | None:
    """Return the leaderboard of evaluators that gave labels of the scale, by kappa; None without one."""
    labelled = [one for one in found if one.labels]
    if not labelled:
        return None
    labels = labelled[0].labels
    rows = []
    for aspect in dict.fromkeys(one.aspect for one in labelled):
        judges = [one for one in labelled if one.aspect == aspect]
        rows.append(_label_row(PEOPLE, max(judges, key=lambda one: one.n_units)))
        best_first = sorted(judges, key=lambda one: falling(one.value("kappa").value))
        rows += [_label_row(one.evaluator, one) for one in best_first]
    cuts = [(cut_name(c), _cut_title(labels, i)) for i, c in enumerate(labels[1:], start=1)]
    columns = (
        *heads(labelled),
        Column("kappa", f"κ, {len(labels)} labels", "decimal", "kappa_low", "kappa_high"),
        *(Column(name, f"κ {title}", "decimal") for name, title in cuts if len(labels) > 2),
        Column("alpha", "α, ordinal", "decimal", "alpha_low", "alpha_high"),
        *(Column(f"label {v:g}", f"Label {v:g}", "count") for v in labels),
        Column("n_off_scale", "Off the scale", "count"),
        Column("n_without", "No label", "count"),
    )
    notes = (
        "Ordered by κ. Labels off the scale are counted but not used, like units without a label.",
        f"κ {cuts[0][1]}: Cohen's κ of pass and fail, split there; 0 for a judge that never passes.",
        "α: Krippendorff's, ordinal. CSV and JSON have every interval, and α at every cut.",
        f"{PEOPLE}: how often people gave each label, on the units of the judge with most of them.",
    )
    return Sheet("labels", "Leaderboard of labels", pd.DataFrame(rows), columns, notes, simulated)


def _label_row(name: str, one: Agreement) -> dict[str, Any]:
    row: dict[str, Any] = {"evaluator": name, "aspect": one.aspect, "n_units": one.n_units}
    people = name == PEOPLE
    for measure in (
        *(m for m in MEASURES if m in one.measured),
        *map(cut_name, one.labels[1:]),
        *map(alpha_name, one.labels[1:]),
    ):
        cells = one.value(measure).row(measure)
        row |= dict.fromkeys(cells, math.nan) if people else cells
    counts = [] if one.table is None else one.table.sum(axis=int(people)).tolist()
    row |= {f"label {v:g}": n for v, n in zip(one.labels, counts, strict=True)}
    off = one.statuses.get(Status.OUT_OF_RANGE.value, 0)
    rest = sum(one.statuses.values()) - off
    return row | {"n_off_scale": 0 if people else off, "n_without": 0 if people else rest}


def _cut_title(labels: Sequence[float], at: int) -> str:
    """Return ``01|23``, or ``≥ 20`` where labels have several digits."""
    words = [f"{v:g}" for v in labels]
    if any(len(w) > 1 for w in words):
        return f"≥ {words[at]}"
    return f"{''.join(words[:at])}|{''.join(words[at:])}"
