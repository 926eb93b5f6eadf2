"""The files of a run folder that only a study of exposure has."""

from __future__ import annotations

OVERLAP, BALANCE, MEANS = "overlap.csv", "balance.csv", "means.csv"
MODEL, MODEL_CALIBRATION = "propensity_model.csv", "propensity_calibration.csv"
OFF_POLICY, POLICY_OVERLAP = "off_policy.csv", "policy_overlap.csv"

FILES = (OVERLAP, BALANCE, MEANS, MODEL, MODEL_CALIBRATION, OFF_POLICY, POLICY_OVERLAP)
"""Those that hold a table."""
TEXTS = (
    *("by", "bin", "of", "covariate", "mean", "source", "resampled", "fitted", "feature"),
    *("policy", "estimator", "refused", "reason", "propensities", "quantity", "limit"),
)
