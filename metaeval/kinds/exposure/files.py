"""The files of a run folder that only a study of exposure has."""

from __future__ import annotations

OVERLAP, BALANCE, MEANS = "overlap.csv", "balance.csv", "means.csv"
RECOMMENDERS, CALIBRATION = "recommenders.csv", "calibration.csv"
POINTS, TRANSPORT = "calibration_points.csv", "transport.csv"

FILES = (*(OVERLAP, BALANCE, MEANS), *(RECOMMENDERS, CALIBRATION, POINTS, TRANSPORT))
"""Those that hold a table."""
TEXTS = (
    *("by", "bin", "of", "covariate", "mean", "source", "resampled"),
    *("evaluator", "system", "measure", "estimator", "group", "outcome"),
    *("reason", "detail", "refused", "outside"),
)
