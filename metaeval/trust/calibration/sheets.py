"""A calibration as sheets: agreement with verdicts, the leaderboard of labels, strata, confusion tables."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pandas as pd

from metaeval.base.records import Status
from metaeval.base.simulation import REAL
from metaeval.engine.sheet import Column, Sheet
from metaeval.trust.calibration.labels import MEASURES, cut_name
from metaeval.trust.calibration.record import numbers_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from metaeval.base.simulation import Simulation
    from metaeval.trust.calibration.bands import Bands
    from metaeval.trust.calibration.labels import Agreement
    from metaeval.trust.calibration.maps import MapFit

PEOPLE = "(people)"
"""The row with the truth's own labels."""
MOST_TABLES = 12
"""Confusion tables up to which they are shown unasked."""

_TITLES = {
    "kappa": "κ",
    "linear": "κ, linear",
    "quadratic": "κ, quadratic",
    "alpha": "α, ordinal",
    "spearman": "Spearman",
    "kendall": "Kendall",
}
_EVALUATOR, _ASPECT = Column("evaluator", "Evaluator"), Column("aspect", "Aspect")


def agreement_sheet(
    found: Sequence[Agreement],
    bands: Bands,
    *,
    measure: str | None = None,
    cuts: Sequence[float] = (),
    intervals: str = "",
    left_out: Sequence[str] = (),
    simulated: Simulation = REAL,
) -> Sheet:
    """Return a row an evaluator and aspect: every measure with its interval, and the verdict.

    Parameters
    ----------
    found
        Agreement on all units.
    bands, measure, cuts
        What verdicts are by.
    intervals
        A sentence on how they were made.
    left_out
        Evaluators that are part of the truth.
    simulated
        What is: the data, or which evaluators.
    """
    names = [*map(cut_name, cuts), *(m for m in MEASURES if m != "alpha" or m == measure)]
    rows = []
    for one in _ordered(found, measure, cuts):
        row: dict[str, Any] = {"evaluator": one.evaluator, "aspect": one.aspect, "n_units": one.n_units}
        row |= {"n_without": sum(one.statuses.values()), **_verdict(one, bands, measure, cuts)}
        for name in dict.fromkeys([*names, "alpha", *one.measured]):
            row |= _cells(name, one)
        rows.append(row)
    columns = [
        *heads(found),
        Column("n_units", "Units", "count"),
        Column("n_without", "No score", "count"),
        Column("verdict", "Verdict"),
        Column("by", "By"),
        *(_column(n) for n in names if any(n in one.measured for one in found)),
    ]
    notes = [bands.sentence(), intervals, *_how(found, cuts)]
    if left_out:
        notes.append(f"Left out, for the truth is made of them: {', '.join(left_out)}.")
    return Sheet(
        "calibration", "Agreement with people", pd.DataFrame(rows), tuple(columns), tuple(notes), simulated
    )


def label_sheet(found: Sequence[Agreement], *, simulated: Simulation = REAL) -> Sheet | None:
    """Return the leaderboard of those who gave labels of the scale, by kappa; None if nobody did.

    κ of all labels and at every cut of the scale, ordinal α, how often each label was given, and what was no
    label of the scale.
    """
    labelled = [one for one in found if one.labels]
    if not labelled:
        return None
    labels = labelled[0].labels
    rows = []
    for aspect in dict.fromkeys(one.aspect for one in labelled):
        judges = [one for one in labelled if one.aspect == aspect]
        most = max(judges, key=lambda one: one.n_units)
        rows.append(_label_row(PEOPLE, most, axis=1))
        rows += [_label_row(one.evaluator, one, axis=0) for one in sorted(judges, key=_by_kappa)]
    frame = pd.DataFrame(rows)
    cuts = [(cut_name(c), _cut_title(labels, i)) for i, c in enumerate(labels[1:], start=1)]
    columns = [
        *heads(labelled),
        Column("kappa", f"κ, {len(labels)} labels", "decimal", "kappa_low", "kappa_high"),
        *(Column(name, f"κ {title}", "decimal") for name, title in cuts if len(labels) > 2),
        Column("alpha", _TITLES["alpha"], "decimal", "alpha_low", "alpha_high"),
        *(Column(f"label {v:g}", f"Label {v:g}", "count") for v in labels),
        Column("n_off_scale", "Off the scale", "count"),
        Column("n_without", "No label", "count"),
    ]
    notes = [
        "Ordered by κ. Labels off the scale are counted and not used, as units without a label are.",
        f"κ {cuts[0][1]}: Cohen's κ of pass and fail, parted there; 0 for a judge that never passes.",
        "α: Krippendorff's, ordinal. Every interval is in the CSV and the JSON.",
        f"{PEOPLE}: how often people gave each label, on the units of the judge with most of them.",
    ]
    if len(labelled) > MOST_TABLES:
        notes.append("Confusion tables of so many are not shown unasked: name evaluators with --evaluator.")
    return Sheet("labels", "Leaderboard of labels", frame, tuple(columns), tuple(notes), simulated)


def strata_sheet(
    found: Sequence[Agreement],
    bands: Bands,
    column: str,
    *,
    measure: str | None = None,
    cuts: Sequence[float] = (),
    simulated: Simulation = REAL,
) -> Sheet | None:
    """Return a row an evaluator, aspect and stratum; None if there are no strata."""
    rows = [
        {
            "evaluator": one.evaluator,
            "aspect": one.aspect,
            "stratum": one.stratum,
            "n_units": one.n_units,
            "n_clusters": one.n_clusters,
            **numbers_of(one.value(one.measure(measure, cuts))),
            **_verdict(one, bands, measure, cuts),
        }
        for one in found
        if one.stratum
    ]
    if not rows:
        return None
    columns = (
        *heads(found),
        Column("stratum", column),
        Column("n_units", "Units", "count"),
        Column("estimate", "Agreement", "decimal", "low", "high"),
        Column("by", "By"),
        Column("verdict", "Verdict"),
    )
    note = f"Each {column} on its own; a part with few units has a wide interval, and its verdict says so."
    return Sheet(
        "strata", f"Agreement with people by {column}", pd.DataFrame(rows), columns, (note,), simulated
    )


def confusion_sheet(
    found: Sequence[Agreement], *, every: bool = False, simulated: Simulation = REAL
) -> Sheet | None:
    """Return people's labels against the evaluators'; None if there are none, or many that nobody chose."""
    tables = [one for one in found if one.table is not None and not one.stratum]
    if not tables or (len(tables) > MOST_TABLES and not every):
        return None
    labels = tables[0].labels
    rows = []
    for one in tables:
        for i, label in enumerate(labels):
            row: dict[str, Any] = {"evaluator": one.evaluator, "aspect": one.aspect, "people": f"{label:g}"}
            counts = [] if one.table is None else one.table[i].tolist()
            row |= {f"judge {v:g}": n for v, n in zip(labels, counts, strict=True)}
            rows.append(row | {"n_units": sum(counts)})
    columns = (
        *heads(found),
        Column("people", "People"),
        *(Column(f"judge {v:g}", f"{v:g}", "count") for v in labels),
        Column("n_units", "Units", "count"),
    )
    note = "A row people's label, a column the evaluator's."
    return Sheet("confusion", "Confusion tables", pd.DataFrame(rows), columns, (note,), simulated)


def state_sheet(states: Iterable[tuple[str, str]], *, simulated: Simulation = REAL) -> Sheet:
    """Return whether each evaluator is still the one that was calibrated."""
    frame = pd.DataFrame(list(states), columns=["evaluator", "state"])
    columns = (_EVALUATOR, Column("state", "Calibration"))
    note = "A calibration holds for the model, prompt, rubric, settings and parser that it was made with."
    return Sheet("states", "Are the judges still calibrated?", frame, columns, (note,), simulated)


def heads(rows: Sequence[Agreement] | Sequence[MapFit]) -> tuple[Column, ...]:
    """Return the columns that name a row: the evaluator, and the aspect where there are several."""
    several = len({one.aspect for one in rows}) > 1
    return (_EVALUATOR, _ASPECT) if several else (_EVALUATOR,)


def _ordered(found: Sequence[Agreement], measure: str | None, cuts: Sequence[float]) -> list[Agreement]:
    """Return rows by aspect, and in it from the best to the worst; those without a value last."""
    aspects = list(dict.fromkeys(one.aspect for one in found))

    def key(one: Agreement) -> tuple[int, bool, float]:
        estimate = one.value(one.measure(measure, cuts)).value
        return (aspects.index(one.aspect), math.isnan(estimate), 0.0 if math.isnan(estimate) else -estimate)

    return sorted(found, key=key)


def _verdict(one: Agreement, bands: Bands, measure: str | None, cuts: Sequence[float]) -> dict[str, str]:
    by = one.measure(measure, cuts)
    value = one.value(by)
    return {"verdict": bands.verdict(value.value, value.low), "by": _title(by)}


def _title(measure: str) -> str:
    return _TITLES.get(measure) or f"κ at {measure.removeprefix('cut ')}"


def _column(measure: str) -> Column:
    return Column(measure, _title(measure), "decimal", f"{measure}_low", f"{measure}_high")


def _cells(name: str, one: Agreement) -> dict[str, float]:
    return one.value(name).row(name)


def _label_row(name: str, one: Agreement, axis: int) -> dict[str, Any]:
    row: dict[str, Any] = {"evaluator": name, "aspect": one.aspect, "n_units": one.n_units}
    of_judge = name != PEOPLE
    for measure in (*(m for m in MEASURES if m in one.measured), *map(cut_name, one.labels[1:])):
        row |= _cells(measure, one) if of_judge else dict.fromkeys(_cells(measure, one), math.nan)
    counts = [] if one.table is None else one.table.sum(axis=axis).tolist()
    row |= {f"label {v:g}": n for v, n in zip(one.labels, counts, strict=True)}
    off = one.statuses.get(Status.OUT_OF_RANGE.value, 0)
    rest = sum(one.statuses.values()) - off
    return row | {"n_off_scale": off if of_judge else 0, "n_without": rest if of_judge else 0}


def _by_kappa(one: Agreement) -> tuple[bool, float]:
    estimate = one.value("kappa").value
    return (math.isnan(estimate), -estimate if not math.isnan(estimate) else 0.0)


def _cut_title(labels: Sequence[float], at: int) -> str:
    """Return ``01|23``, or ``≥ 20`` where labels have several digits."""
    words = [f"{v:g}" for v in labels]
    if any(len(w) > 1 for w in words):
        return f"≥ {words[at]}"
    return f"{''.join(words[:at])}|{''.join(words[at:])}"


def _how(found: Sequence[Agreement], cuts: Sequence[float]) -> Iterator[str]:
    if any(one.labels for one in found):
        yield "κ: Cohen's, of labels, plain and with linear and quadratic weights."
    if any(not one.labels for one in found):
        yield (
            "Scores that are no labels of the scale are judged by their order alone (Spearman, Kendall's "
            "τ-b): they may rank texts, but no threshold of the scale holds for them."
        )
    if cuts:
        yield f"Pass is {' or '.join(f'{c:g}' for c in cuts)} or more."
    yield "Nothing is filled in: units without a score, or without a rating of people, are left out."
