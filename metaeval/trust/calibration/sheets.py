"""A calibration as sheets: agreement with verdicts, the leaderboard of labels, strata, confusion tables."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import pandas as pd
from pydantic import Field

from metaeval.analysis.agreement.labels import (
    MEASURES,
    Agreement,
    cut_name,
    detection_sheet,
    falling,
    heads,
    label_sheet,
)
from metaeval.base.keys import cluster_columns, key_columns
from metaeval.base.records import Scale
from metaeval.engine.figure import Figure
from metaeval.engine.sheet import Column, Sheet
from metaeval.runs.command import Aspects, Names, Typed
from metaeval.stats.agreement.confidence import BINS, Reliability, reliability
from metaeval.stats.coefficients.tables import Floats
from metaeval.stats.resampling.significance import FEWEST_CLUSTERS, TOO_FEW
from metaeval.stats.weighted.sums import Clusters
from metaeval.trust.calibration.record import Bands, numbers_of

if TYPE_CHECKING:
    from metaeval.engine.alignment.aligned import Bools
    from metaeval.engine.intervals import Bootstrap


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
_HEAD = (Column("evaluator", "Evaluator"), Column("aspect", "Aspect"))


class Calibrating(Typed):
    """What to calibrate, and how."""

    evaluators: Annotated[Names, "--evaluator NAME"] = ()
    """Evaluator to calibrate; may be given again.  [default: all]"""
    aspects: Aspects = ()
    by: Annotated[str | None, "COLUMN"] = None
    """Also calibrate within each value of this column of the units or users."""
    cuts: Annotated[tuple[float, ...], "--cut"] = ()
    """Labels of this value or more pass; the verdict uses kappa of pass and fail, and sensitivity, precision,
    ROC AUC and the like are shown. May be given again."""
    bands: str = "0.4,0.6"
    """Thresholds of the verdicts."""
    measure: str | None = None
    """Coefficient of the verdict: kappa, linear, quadratic, alpha, spearman, kendall."""
    weights: Annotated[str | None, "NAME|FILE"] = None
    """Also show κ, π, AC1 or AC2 and α under weights of agreement: identity, linear, quadratic, radical,
    ratio, ordinal, circular, bipolar, or a CSV file with a row and a column per label."""
    within: Annotated[float | None, Field(ge=0)] = None
    """Points within which a score agrees, for its confidence.  [default: the same value of the scale]"""
    truth: str | None = None
    """Truth, for a data set.  [default: User(), or the only annotator]"""
    data: Annotated[str | None, "DIR"] = None
    """Data-set folder of the run.  [default: the study's]"""
    people: Annotated[Names, "NAME"] = ()
    """Scorer or field of an EXPORT whose values are people's; may be given again."""
    check: Annotated[Path | None, "CALIBRATION"] = None
    """Check that RUN's judges are those of this calibration file or run."""
    save: Path | None = None
    """Calibration file to write.  [default: calibration.json in RUN]"""
    resamples: Annotated[int | None, Field(ge=1)] = None
    """Number of resamples.  [default: the run's, else 10000]"""
    seed: Annotated[int | None, Field(ge=0)] = None
    """Seed of the resamples.  [default: the run's, else 0]"""

    def of(self, bootstrap: Bootstrap) -> Bootstrap:
        """Return a bootstrap with the resamples and the seed that are given."""
        options = {"resamples": self.resamples, "seed": self.seed}
        return bootstrap.model_copy(
            update={key: value for key, value in options.items() if value is not None}
        )


def calibration_sheets(
    found: Sequence[Agreement],
    bands: Bands,
    how: Calibrating,
    *,
    intervals: str = "",
    left_out: Sequence[str] = (),
    judges: Sequence[str] = (),
) -> list[Sheet]:
    """Return ``calibration`` and, where there are such, ``detection``, ``labels``, ``strata``, ``confusion``.

    ``found`` is agreement on all units and on strata; ``intervals`` is a sentence on how they were made;
    evaluators ``left_out`` are part of the truth. If evaluators are named, all confusion tables are shown.
    """
    measure, cuts, by, every = how.measure, how.cuts, how.by, bool(how.evaluators)
    whole = [one for one in found if not one.stratum]
    aspects = list(dict.fromkeys(one.aspect for one in found))
    judged = {id(one): bands.judged(one, measure, cuts) for one in found}
    names = [*map(cut_name, cuts), *(m for m in MEASURES if m != "alpha" or m == measure)]
    if all(one.words for one in whole):
        names = ["kappa", "alpha"]
    rows, strata = [], []

    def place(one: Agreement) -> tuple[Any, ...]:
        """By aspect, the judges first, from the best to the worst; those without a value last."""
        return (aspects.index(one.aspect), one.evaluator not in judges, *falling(judged[id(one)][1].value))

    for one in sorted(whole, key=place):
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
    bys = (
        (Column("by", "Measure", keep=True),) if len(measures) > 1 else ()
    )  # a single one stands in the title
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
        Sheet("calibration", "Agreement with people", pd.DataFrame(rows), columns, tuple(notes)),
        detection_sheet(found, by),
        _labels(whole, every),
    ]
    if strata:
        columns = (*heads(found), Column("stratum", str(by)), units, estimate, *bys, verdicts)
        note = f"Each {by} on its own; with few units intervals are wide, and verdicts say so."
        title = f"Agreement with people by {by}"
        sheets.append(Sheet("strata", title, pd.DataFrame(strata), columns, (note,)))
    sheets.append(_confusion_sheet(whole, every))
    return [sheet for sheet in sheets if sheet is not None]


def _labels(found: Sequence[Agreement], every: bool) -> Sheet | None:
    """Return the leaderboard of labels, and why it may stand without confusion tables."""
    sheet = label_sheet(found)
    if sheet is None or every or sum(bool(one.labels) for one in found) <= MOST_TABLES:
        return sheet
    note = "To see confusion tables of this many evaluators, name some with --evaluator."
    return replace(sheet, notes=(*sheet.notes, note))


def _confusion_sheet(found: Sequence[Agreement], every: bool) -> Sheet | None:
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
    return Sheet("confusion", "Confusion tables", pd.DataFrame(rows), columns, (note,))


def state_sheet(states: Iterable[tuple[str, str]]) -> Sheet:
    """Return whether each evaluator is still the one that was calibrated."""
    frame = pd.DataFrame(list(states), columns=["evaluator", "state"])
    columns = (_HEAD[0], Column("state", "Calibration"))
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


CONFIDENCE = "confidence"
"""The column of scores that holds it, in 0 … 1; and the sheet."""
RELIABILITY = "reliability"
_ALPHA = 0.05


def agreed(scores: Floats, ratings: Floats, scale: Scale, within: float | None) -> Bools | None:
    """Say which scores agree with people; None on a scale without steps, unless ``within`` is given.

    They agree if they are ``within`` so many points; if that is None, or labels are words, if they are the
    same value of the scale, rounded.
    """
    if within is not None and not scale.labels:
        return np.asarray(np.abs(scores - ratings) <= within + 1e-9)
    if not scale.integer:
        return None
    return np.asarray(np.floor(scores + 0.5) == np.floor(ratings + 0.5))


def _verdict(found: Reliability) -> str:
    """Return what a confidence is worth, in words."""
    gap, area = found.gap, found.auroc
    side = (
        "too high" if gap.low > 0 else "too low" if gap.high < 0 else "too high in places, too low in others"
    )
    side = side if found.p <= _ALPHA else "not seen to be miscalibrated"
    side = TOO_FEW if gap.n < FEWEST_CLUSTERS else side
    said = (
        f"{side}: it is {found.confidence.value:.0%} sure on average, and right in {found.accuracy.value:.0%}"
    )
    if math.isnan(area.low):
        return said
    tells = "tells right from wrong" if area.low > 0.5 else "was not seen to tell right from wrong"
    return f"{said}; it {tells} (AUROC {area.value:.2f})"


_SILENT = "It states no confidence (expected=True keeps one), so it cannot choose what people look at."
_CONCLUSION = (_HEAD[0], Column("verdict", "Over all aspects"))
_NUMBERS = (
    *_HEAD,
    Column("verdict", "Its confidence is", keep=True),
    Column("accuracy", "Right", "share", "accuracy_low", "accuracy_high"),
    Column("stated", "Confidence", "share"),
    Column("gap", "Too high by", "share", "gap_low", "gap_high"),
    Column("ece", "ECE", "share", "ece_low", "ece_high"),
    Column("p", "p", "p"),
    Column("brier", "Brier", "decimal", "brier_low", "brier_high"),
    Column("auroc", "AUROC", "hundredths", "auroc_low", "auroc_high"),
    Column("n_units", "Units", "count"),
)
_BINS = (
    *_HEAD,
    Column("bin", "Bin"),
    Column("stated", "Confidence", "share"),
    Column("right", "Right", "share", "right_low", "right_high"),
    Column("n_units", "Units", "count"),
)


def confidence_sheets(
    scores: pd.DataFrame,
    truth: pd.DataFrame,
    evaluators: Sequence[str],
    *,
    judges: Sequence[str] = (),
    scale: Scale,
    bootstrap: Bootstrap,
    within: float | None = None,
) -> list[Sheet]:
    """Return ``conclusion``, a sentence per judge; ``confidence``, a verdict each; ``reliability``, by bin.

    Without a confidence there is only what ``judges`` lack. Scores and truth are long tables; ``within`` is
    as of `agreed`.
    """
    keys = key_columns(truth)
    scores = scores.reindex(columns=[*scores, CONFIDENCE]) if CONFIDENCE not in scores else scores
    there = scores[
        scores["score"].notna() & scores[CONFIDENCE].notna() & scores["evaluator"].isin(evaluators)
    ]
    rated = there.merge(truth[truth["rating"].notna()], on=[*keys, "aspect"])
    for name, own in rated.groupby("aspect", observed=True):
        right = agreed(own["score"].to_numpy(), own["rating"].to_numpy(), scale.of(str(name)), within)
        rated.loc[own.index, "right"] = np.nan if right is None else right.astype(np.float64)
    column = cluster_columns(keys).get(str(bootstrap.cluster))
    by = [column] if column else list(keys)
    rows, bins = [], []
    for (evaluator, aspect), own in rated.groupby(["evaluator", "aspect"], sort=False, observed=True):
        of, verdict = _assessed(own, by, bootstrap)
        head: dict[str, Any] = {"evaluator": str(evaluator), "aspect": str(aspect)}
        row = head | {"n_units": len(own), "verdict": verdict}
        rows.append(row)
        if of is not None:
            row |= {"stated": of.confidence.value, "p": of.p}
            for name in ("accuracy", "gap", "ece", "brier", "auroc"):
                row |= getattr(of, name).row(name)
            table = pd.DataFrame({"stated": of.stated, **of.right.row("right"), "n_units": of.counts})
            names = [f"{b / BINS:g} to {(b + 1) / BINS:g}" for b in range(BINS)]
            bins.append(table.assign(bin=names, **head)[of.counts > 0])
    said = {
        str(evaluator): _conclusion(*_assessed(own, by, bootstrap))
        for evaluator, own in rated.groupby("evaluator", sort=False, observed=True)
    }
    said |= {name: _SILENT for name in judges if name not in said}
    frame = pd.DataFrame({"evaluator": [*said], "verdict": [*said.values()]})
    title = "Is a judge as sure as it is right?"
    first = [Sheet("conclusion", title, frame, _CONCLUSION, ())] if said else []
    if not rows:
        return first
    same = "the same value of the scale, rounded" if within is None else f"within {within:g} points"
    notes = (
        f"Right: score and rating are {same}. Too high by: the mean confidence less the share that is right.",
        "ECE: the mean distance of confidence and share that is right, over ten bins, less what chance adds.",
        "p: of a calibrated confidence. Brier: the mean square of confidence less 1 if right, less 0 if not.",
        "AUROC: how often a right score has a higher confidence than a wrong one; 0.5 is chance.",
        "Confidence: as the judge states it, or the probability of its score on the scale (expected=True).",
    )
    frame = pd.DataFrame(rows)
    columns = tuple(c for c in _NUMBERS if c.name in frame)
    sheet = Sheet(CONFIDENCE, "Is a judge as often right as it is sure?", frame, columns, notes)
    title = "Reliability: how often a judge is right, by its confidence"
    by_bin = [Sheet(RELIABILITY, title, pd.concat(bins), _BINS, ())] if bins else []
    return [*first, sheet, *by_bin]


def _assessed(own: pd.DataFrame, by: list[str], bootstrap: Bootstrap) -> tuple[Reliability | None, str]:
    """Return the reliability of the confidence in some rows, and a verdict; None if it cannot be said."""
    said, right = (own[c].to_numpy(np.float64) for c in (CONFIDENCE, "right"))
    of_unit = own.groupby(by, sort=False, observed=True).ngroup().to_numpy(np.int64)
    clusters = Clusters(of_unit, int(of_unit.max()) + 1)
    if said.min() < 0 or said.max() > 1:
        return None, "cannot be said: its confidence is not between 0 and 1"
    if np.isnan(right).any():
        return None, "cannot be said: its scale has no steps; say what agrees with --within POINTS"
    if clusters.n < 2:
        return None, "cannot be said: all units are of one cluster"
    found = reliability(said, right > 0, clusters, bootstrap.resampler())
    return found, _verdict(found)


def _conclusion(found: Reliability | None, verdict: str) -> str:
    """Return what a reader is to conclude of a judge's confidence."""
    if found is None or math.isnan(found.auroc.low):
        return f"Its confidence is {verdict}. So it is not known whether it may choose what people look at."
    may = found.auroc.low > 0.5
    use = "people may look at what it is least sure of" if may else "it cannot choose what people look at"
    return f"Its confidence is {verdict}. So {use}."


def reliability_figures(sheets: Sequence[Sheet]) -> list[Figure]:
    """Return the reliability diagram, if the sheet ``reliability`` is among these."""
    import altair as alt

    from metaeval.engine.charts import DASHED, ROWS, curves, tooltip

    unit, agrees = alt.Scale(domain=[0, 1]), "share that agrees with people"
    x = alt.X("stated:Q", title="confidence", scale=unit)
    y = alt.Y("right:Q", title=agrees, scale=unit)
    lines = tooltip(evaluator="evaluator", right=("right", ".2f"), n_units=("units", ","))
    ideal = ROWS.mark_rule(**DASHED).encode(
        x=alt.XDatum(0, scale=unit), y=alt.YDatum(0, scale=unit), x2=alt.X2Datum(1), y2=alt.Y2Datum(1)
    )
    return [
        Figure(
            sheet,
            curves(f"{sheet.title}.", sheet.frame, x, y, ("right_low", "right_high"), lines, over=[ideal]),
            {"aspect": str(sheet.frame["aspect"].iloc[0])},
        )
        for sheet in sheets
        if sheet.name == RELIABILITY
    ]
