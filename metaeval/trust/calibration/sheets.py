"""A calibration as sheets: agreement with verdicts, the leaderboard of labels, strata, confusion tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from metaeval.analysis.agreement.labels import MEASURES, Agreement, cut_name, falling, heads, label_sheet
from metaeval.base.simulation import REAL, Simulation
from metaeval.engine.sheet import Column, Sheet
from metaeval.trust.calibration.record import Bands, numbers_of

MOST_TABLES = 12
"""More confusion tables are shown only for evaluators that are named."""

_TITLES = {
    "kappa": "κ",
    "linear": "κ, linear",
    "quadratic": "κ, quadratic",
    "alpha": "α",
    "spearman": "Spearman",
    "kendall": "Kendall",
}
_EVALUATOR, _ASPECT = Column("evaluator", "Evaluator"), Column("aspect", "Aspect")


def calibration_sheets(
    found: Sequence[Agreement],
    bands: Bands,
    *,
    measure: str | None = None,
    cuts: Sequence[float] = (),
    by: str = "",
    every: bool = False,
    intervals: str = "",
    left_out: Sequence[str] = (),
    simulated: Simulation = REAL,
) -> list[Sheet]:
    """Return ``calibration`` and, where there are such results, ``labels``, ``strata`` and ``confusion``.

    ``found`` is agreement on all units and on the strata of the column ``by``. ``every`` shows all confusion
    tables, however many; ``intervals`` is a sentence on how they were made; evaluators ``left_out`` are part
    of the truth.
    """
    whole = [one for one in found if not one.stratum]
    aspects = list(dict.fromkeys(one.aspect for one in found))
    judged = {id(one): bands.judged(one, measure, cuts) for one in found}
    names = [*map(cut_name, cuts), *(m for m in MEASURES if m != "alpha" or m == measure)]
    if all(one.words for one in whole):
        names = ["kappa", "alpha"]
    rows, strata = [], []
    # By aspect, and in it from the best to the worst; those without a value last.
    for one in sorted(whole, key=lambda one: (aspects.index(one.aspect), *falling(judged[id(one)][1].value))):
        measured, value, verdict = judged[id(one)]
        row: dict[str, Any] = {"evaluator": one.evaluator, "aspect": one.aspect, "n_units": one.n_units}
        row |= {"n_without": sum(one.statuses.values()), "verdict": verdict, "by": _title(measured)}
        row |= numbers_of(value)
        for name in dict.fromkeys([*names, "alpha", *one.measured]):
            row |= one.value(name).row(name)
        rows.append(row)
    for one in found:
        measured, value, verdict = judged[id(one)]
        row = {"evaluator": one.evaluator, "aspect": one.aspect, "stratum": one.stratum}
        row |= {"n_units": one.n_units, "n_clusters": one.n_clusters, **numbers_of(value)}
        strata += [row | {"verdict": verdict, "by": _title(measured)}] if one.stratum else []
    units, verdicts = Column("n_units", "Units", "count"), Column("verdict", "Verdict", keep=True)
    measures = {row["by"] for row in (*rows, *strata)}
    bys = (Column("by", "Measure"),) if len(measures) > 1 else ()  # a single one stands in the title
    title = "Agreement" if bys else " ".join(["Agreement:", *measures])
    estimate = Column("estimate", title, "decimal", "low", "high", keep=True)
    columns = (
        *heads(whole),
        units,
        Column("n_without", "No score", "count"),
        estimate,
        verdicts,
        *bys,
        *(
            Column(n, _title(n), "decimal", f"{n}_low", f"{n}_high")
            for n in names
            if any(n in one.measured for one in whole)
        ),
    )
    notes = [bands.sentence(), intervals, *_how(whole, cuts)]
    if left_out:
        notes.append(f"Left out as parts of the truth: {', '.join(left_out)}.")
    sheets: list[Sheet | None] = [
        Sheet("calibration", "Agreement with people", pd.DataFrame(rows), columns, tuple(notes), simulated),
        _labels(whole, every, simulated),
    ]
    if strata:
        columns = (*heads(found), Column("stratum", by), units, estimate, *bys, verdicts)
        note = f"Each {by} on its own; with few units intervals are wide, and verdicts say so."
        title = f"Agreement with people by {by}"
        sheets.append(Sheet("strata", title, pd.DataFrame(strata), columns, (note,), simulated))
    sheets.append(_confusion_sheet(whole, every, simulated))
    return [sheet for sheet in sheets if sheet is not None]


def _labels(found: Sequence[Agreement], every: bool, simulated: Simulation) -> Sheet | None:
    """Return the leaderboard of labels, and why it may stand without confusion tables."""
    sheet = label_sheet(found, simulated=simulated)
    if sheet is None or every or sum(bool(one.labels) for one in found) <= MOST_TABLES:
        return sheet
    note = "To see confusion tables of this many evaluators, name some with --evaluator."
    return replace(sheet, notes=(*sheet.notes, note))


def _confusion_sheet(found: Sequence[Agreement], every: bool, simulated: Simulation) -> Sheet | None:
    """Return people's labels against the evaluators'; None without any, or with too many."""
    tables = [(one, one.table) for one in found if one.table is not None]
    if not tables or (len(tables) > MOST_TABLES and not every):
        return None
    labels = tables[0][0].names
    rows = [
        {
            "evaluator": one.evaluator,
            "aspect": one.aspect,
            "people": label,
            **{f"judge {v}": n for v, n in zip(one.names, counts, strict=True)},
            "n_units": sum(counts),
        }
        for one, table in tables
        for label, counts in zip(one.names, table.tolist(), strict=True)
    ]
    columns = (
        *heads(found),
        Column("people", "People"),
        *(Column(f"judge {v}", v, "count") for v in labels),
        Column("n_units", "Units", "count"),
    )
    note = "Rows are people's labels, columns the evaluator's."
    return Sheet("confusion", "Confusion tables", pd.DataFrame(rows), columns, (note,), simulated)


def state_sheet(states: Iterable[tuple[str, str]]) -> Sheet:
    """Return whether each evaluator is still the one that was calibrated."""
    frame = pd.DataFrame(list(states), columns=["evaluator", "state"])
    columns = (_EVALUATOR, Column("state", "Calibration"))
    note = "A calibration is valid for the model, prompt, rubric, settings and parser that it was made with."
    return Sheet("states", "Are the judges still calibrated?", frame, columns, (note,))


def _title(measure: str) -> str:
    return _TITLES.get(measure) or f"κ at {measure.removeprefix('cut ')}"


def _how(found: Sequence[Agreement], cuts: Sequence[float]) -> Iterator[str]:
    if any(one.labels and not one.words for one in found):
        yield "κ: Cohen's, of labels, plain and with linear and quadratic weights."
    if any(one.words for one in found):
        yield "Labels in words have no order: κ is Cohen's without weights, α is Krippendorff's, nominal."
    if any(not one.labels and not one.words for one in found):
        yield (
            "Scores that are not labels of the scale are compared by order only (Spearman, Kendall's "
            "τ-b): they may rank texts, but thresholds of the scale do not apply to them."
        )
    if cuts:
        yield f"Pass is {' or '.join(f'{c:g}' for c in cuts)} or more."
    yield "Nothing is filled in: units without a score, or without a rating of people, are left out."
