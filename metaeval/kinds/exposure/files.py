"""The files of a run folder that only a study of exposure has, and their columns of text."""

from __future__ import annotations

OVERLAP, BALANCE, MEANS = "overlap.csv", "balance.csv", "means.csv"
MODEL, MODEL_CALIBRATION = "propensity_model.csv", "propensity_calibration.csv"
OFF_POLICY, POLICY_OVERLAP = "off_policy.csv", "policy_overlap.csv"
RECOMMENDERS, CALIBRATION = "recommenders.csv", "calibration.csv"
POINTS, TRANSPORT = "calibration_points.csv", "transport.csv"

FILES = (
    *(OVERLAP, BALANCE, MEANS, MODEL, MODEL_CALIBRATION, OFF_POLICY, POLICY_OVERLAP),
    *(RECOMMENDERS, CALIBRATION, POINTS, TRANSPORT),
)
"""Those that hold a table."""
TEXTS = (
    *("by", "bin", "of", "covariate", "mean", "source", "resampled", "fitted", "feature"),
    *("policy", "estimator", "refused", "reason", "propensities", "quantity", "limit"),
    *("evaluator", "system", "measure", "group", "outcome", "detail", "outside"),
)
