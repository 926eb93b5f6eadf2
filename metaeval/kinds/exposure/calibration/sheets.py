"""Recommenders, the link from judges' scores to them, and its audit, as sheets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metaeval.engine.sheet import Column, Sheet
from metaeval.kinds.exposure.files import CALIBRATION, OVERLAP, RECOMMENDERS, TRANSPORT
from metaeval.kinds.exposure.propensity.report import intervals_sentence
from metaeval.kinds.exposure.recommenders.sheets import recommenders_sheet

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import pandas as pd

    from metaeval.base.simulation import Simulation
    from metaeval.kinds.exposure.study import ExposureStudy

_BY = (Column("evaluator", "Evaluator"), Column("measure", "Measure"), Column("estimator", "Estimator"))
_LINK = (
    "A judge's score of a recommender is its RJS with the judge: the weighted share of pairs on which the "
    "two prefer the same item, minus the share on which they do not; ties count as half. R²: of isotonic "
    "regression, each recommender predicted by a map fitted to the others. Outside: recommenders with a "
    "score outside the range of the others; R² leaves them out."
)
_FIXED = "Propensities are fixed while users are resampled."
_AUDIT = (
    "The map is fitted without the group and predicts every recommender in it. Transports: all errors lie "
    "within ± the margin, by simultaneous intervals (Bonferroni). Does not: one interval lies wholly beyond "
    "it. The deciding recommender is shown."
)


def calibration_sheets(
    tables: Mapping[str, pd.DataFrame], study: ExposureStudy, simulated: Simulation
) -> Iterator[Sheet]:
    """Yield the tables of recommenders, of the link and of its audit, as far as there are any.

    Parameters
    ----------
    tables
        Name of a file → its table.
    """
    if RECOMMENDERS in tables:
        fitted = tables[OVERLAP]["source"][0] == "fitted"
        intervals = intervals_sentence(fitted, study.bootstrap, study.propensity)
        yield recommenders_sheet(tables[RECOMMENDERS], study.recommenders, simulated.among(()), intervals)
    if CALIBRATION in tables:
        yield _link(
            tables[CALIBRATION], simulated, intervals_sentence(False, study.bootstrap, study.propensity)
        )
    if TRANSPORT in tables:
        yield _transport(tables[TRANSPORT], simulated)


def _link(frame: pd.DataFrame, simulated: Simulation, intervals: str) -> Sheet:
    columns = (
        *_BY,
        *(
            Column(name, title, "decimal", f"{name}_low", f"{name}_high")
            for name, title in (("spearman", "Spearman's ρ"), ("kendall", "Kendall's τ"), ("r2", "R²"))
        ),
        Column("n_systems", "Recommenders", "count"),
        Column("n_refused", "Refused", "count"),
        Column("n_outside", "Outside", "count"),
        Column("reason", "No map because", "code"),
    )
    said = []
    for text, rows in frame[frame["detail"] != ""].groupby("detail", sort=False):
        judges = [str(judge) for judge in rows["evaluator"].unique()]
        of = "" if len(judges) == frame["evaluator"].nunique() else f"{', '.join(judges)}: "
        said.append(f"{of}{text}")
    no_map = [f"No map: {'; '.join(said)}."] if said else []
    notes = filter(None, (_LINK, _FIXED, *no_map, intervals))
    title = "From judges' scores of recommenders to their Recall and nDCG"
    return Sheet("calibration", title, frame, columns, tuple(notes), simulated)


def _transport(frame: pd.DataFrame, simulated: Simulation) -> Sheet:
    columns = (
        *_BY,
        Column("by", "Groups by"),
        Column("group", "Group"),
        Column("outcome", "Outcome"),
        Column("system", "Recommender"),
        Column("error", "Error", "decimal", "error_low", "error_high"),
        Column("margin", "Margin", "number"),
        Column("n_systems", "Recommenders", "count"),
        Column("n_outside", "Outside", "count"),
        Column("reason", "Why"),
    )
    title = "Transport of maps to held-out groups"
    return Sheet("transport", title, frame, columns, (_AUDIT,), simulated)
