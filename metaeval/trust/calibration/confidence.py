"""How far the confidence that a judge states, or its probabilities, can be taken at its word."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from metaeval.base.keys import cluster_columns, key_columns
from metaeval.base.records import Scale
from metaeval.base.simulation import REAL, Simulation
from metaeval.engine.figures.figure import Figure
from metaeval.engine.sheet import Column, Sheet
from metaeval.stats.agreement.confidence import BINS, Reliability, reliability
from metaeval.stats.coefficients.tables import Floats
from metaeval.stats.resampling.significance import FEWEST_CLUSTERS, TOO_FEW
from metaeval.stats.weighted.sums import Clusters

if TYPE_CHECKING:
    from metaeval.engine.alignment.aligned import Bools
    from metaeval.engine.intervals import Bootstrap

CONFIDENCE = "confidence"
"""The column of scores that holds it, in 0 … 1; and the sheet."""
RELIABILITY = "reliability"
_ALPHA = 0.05
_HEAD = (Column("evaluator", "Evaluator"), Column("aspect", "Aspect"))


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
    simulated: Simulation = REAL,
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
    first = [Sheet("conclusion", title, frame, _CONCLUSION, (), simulated)] if said else []
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
    sheet = Sheet(CONFIDENCE, "Is a judge as often right as it is sure?", frame, columns, notes, simulated)
    title = "Reliability: how often a judge is right, by its confidence"
    by_bin = [Sheet(RELIABILITY, title, pd.concat(bins), _BINS, (), simulated)] if bins else []
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

    from metaeval.engine.figures.charts import DASHED, ROWS, curves, tooltip

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
