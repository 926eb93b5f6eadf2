"""Overlap, balance, means and the exposure model, as sheets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from metaeval.engine.sheet import Column, Sheet
from metaeval.kinds.exposure.files import MODEL, MODEL_CALIBRATION
from metaeval.kinds.exposure.propensity.means import gap_sentence
from metaeval.stats.off_policy.overlap import QUANTILES, THRESHOLDS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from metaeval.base.simulation import Simulation
    from metaeval.kinds.exposure.propensity.model import ExposureModel

_BINS = (
    "Popularity bin 0 has the items with the most rows, age bin 0 the newest. Bins are cut at quantiles, of "
    "popularity over items, of age over rows; equal values are in one bin."
)
_WEIGHTS = (
    "Mean weight: the sum of the weights of a bin, divided by its expected value; 1 if the propensities are "
    "right. ESS: (Σw)² / Σw². Largest: the largest share of the weight in one row. Never shown: the share "
    "of items without a row in the log; no weight makes up for them."
)
_BALANCE = (
    "Difference of the log's mean from that of all items, or users, in standard deviations of these. With "
    "right propensities, weighting brings it to 0; above 0.1 a covariate is usually called unbalanced."
)
_MEANS = (
    "Naive: the mean over the rows. IPS: Σwy / N, where N is the expected sum of the weights: users × "
    "items for propensities of pairs, rows for those of choices. SNIPS: Σwy / Σw. Both are the off-policy "
    "values of the policy that shows all items alike."
)


def overlap_sheet(frame: pd.DataFrame, simulated: Simulation, notes: tuple[str, ...] = ()) -> Sheet:
    """Lay out `metaeval.kinds.exposure.propensity.overlap.overlap_frame`."""
    return Sheet(
        "overlap",
        "Overlap: propensities and weights by bin",
        frame,
        (
            Column("by", "By"),
            Column("bin", "Bin"),
            Column("n", "Rows", "count"),
            Column("minimum", "Least p", "number"),
            *(Column(f"q{round(100 * q):02}", f"{100 * q:g} %", "number") for q in QUANTILES),
            *(Column(f"below_{t:g}", f"p < {t:g}", "share") for t in THRESHOLDS),
            Column("ess", "ESS", "count"),
            Column("mean_weight", "Mean weight", "hundredths"),
            Column("largest_share", "Largest", "share"),
            Column("unshown", "Never shown", "share"),
        ),
        (_BINS, _WEIGHTS, *notes),
        simulated,
    )


def balance_sheet(frame: pd.DataFrame, simulated: Simulation) -> Sheet:
    """Lay out `metaeval.kinds.exposure.propensity.overlap.balance_frame`."""
    columns = (
        Column("of", "Of"),
        Column("covariate", "Covariate"),
        Column("before", "Before", "hundredths"),
        Column("after", "After", "hundredths"),
    )
    return Sheet("balance", "Balance before and after weighting", frame, columns, (_BALANCE,), simulated)


def means_sheet(frame: pd.DataFrame, simulated: Simulation, intervals: str) -> Sheet:
    """Lay out `metaeval.kinds.exposure.propensity.means.means_frame`, and say what of the gap is closed."""
    columns = [Column("mean", "Mean"), Column("value", "Value", "number", "ci_low", "ci_high")]
    if frame["closed"].notna().any():
        columns.append(Column("closed", "Share of the gap closed", "share"))
    why = "; ".join(dict.fromkeys(filter(None, frame["reason"])))
    refused = why and f"Withheld values are refused: {why}."
    notes = tuple(filter(None, (gap_sentence(frame), refused, _MEANS, intervals)))
    return Sheet("means", "Mean outcome, as logged and weighted", frame, tuple(columns), notes, simulated)


def model_frames(model: ExposureModel) -> dict[str, pd.DataFrame]:
    """Return the coefficients and the calibration of fitted propensities: name of the file → table."""
    found, sample = model.calibration(), model.sample
    cases = int(sample.exposed.sum())
    fitted = (
        f"Fitted to {cases:,} pairs of a user and an item of {sample.users:,} users, and "
        f"{len(sample.exposed) - cases:,} that were not shown, weighted to all of them; "
        f"{model.options.folds} folds of users, each predicted and calibrated by a model fitted to the "
        "others."
    )
    rows = {"predicted": found.predicted, "exposed": found.happened, "pairs": found.weight, "auc": found.auc}
    return {MODEL: model.coefficients().assign(fitted=fitted), MODEL_CALIBRATION: pd.DataFrame(rows)}


def model_sheets(frames: Mapping[str, pd.DataFrame], simulated: Simulation) -> list[Sheet]:
    """Lay out what `model_frames` returns."""
    if MODEL not in frames:
        return []
    model, calibration = frames[MODEL], frames[MODEL_CALIBRATION]
    coefficients = Sheet(
        "coefficients",
        "The exposure model",
        model,
        (
            Column("feature", "Feature"),
            Column("coefficient", "Log odds", "number", "least", "largest"),
            Column("root_mean_square", "Root mean square", "number"),
        ),
        (model["fitted"][0], "Log odds per unit of the feature, mean over folds [least, largest]."),
        simulated,
    )
    columns = (
        Column("predicted", "Predicted", "number"),
        Column("exposed", "Exposed", "number"),
        Column("pairs", "Pairs", "count"),
    )
    area = f"The area under the ROC curve is {calibration['auc'][0]:.4f}."
    title = "Calibration of the exposure model"
    notes = (f"{area} Bins are cut at quantiles of shown pairs.",)
    return [coefficients, Sheet("propensity_calibration", title, calibration, columns, notes, simulated)]
