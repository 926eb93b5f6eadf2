"""The files of a run folder that only a study of exposure has, and their columns of text."""

from __future__ import annotations

UNITS = "units.parquet"
"""What is known of each unit: key columns, items, bins, weight, and how the pair was matched."""
PAIR_AUC, EVIDENCE, INVENTED, ABLATIONS = "pair_auc.csv", "evidence.csv", "invented.csv", "ablations.csv"
OVERLAP, BALANCE, MEANS = "overlap.csv", "balance.csv", "means.csv"
MODEL, MODEL_CALIBRATION = "propensity_model.csv", "propensity_calibration.csv"
OFF_POLICY, POLICY_OVERLAP = "off_policy.csv", "policy_overlap.csv"
RECOMMENDERS, CALIBRATION = "recommenders.csv", "calibration.csv"
POINTS, TRANSPORT = "calibration_points.csv", "transport.csv"

SHEETS = (PAIR_AUC, ABLATIONS, EVIDENCE, INVENTED)
"""What is found of pairs, laid out as sheets in this order."""
FILES = (
    *(UNITS, *SHEETS, OVERLAP, BALANCE, MEANS, MODEL, MODEL_CALIBRATION, OFF_POLICY, POLICY_OVERLAP),
    *(RECOMMENDERS, CALIBRATION, POINTS, TRANSPORT),
)
"""Those that hold a table."""
TEXTS = (
    *("evaluator", "bin", "weighted", "order", "user_id", "pair", "text", "rule", "base", "argument"),
    *("value_of", "by", "of", "covariate", "mean", "source", "resampled", "fitted", "feature", "policy"),
    *("estimator", "refused", "reason", "propensities", "quantity", "limit", "system", "measure", "group"),
    *("outcome", "detail", "outside"),
)
