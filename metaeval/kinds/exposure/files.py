"""The files of a run folder that only a study of exposure has, and their columns of text."""

from __future__ import annotations

UNITS = "units.parquet"
"""What is known of each unit: key columns, items, bins, weight, and how the pair was matched."""
PAIR_AUC, EVIDENCE, INVENTED, ABLATIONS = "pair_auc.csv", "evidence.csv", "invented.csv", "ablations.csv"

SHEETS = (PAIR_AUC, ABLATIONS, EVIDENCE, INVENTED)
"""Those that are laid out as sheets, in order."""
FILES = (UNITS, *SHEETS)
"""Those that hold a table."""
TEXTS = (
    *("evaluator", "bin", "weighted", "order", "user_id", "pair", "text", "rule"),
    *("base", "argument", "value_of"),
)
