"""The files of a run folder that only a study of relevance has, and their columns of text."""

from __future__ import annotations

AGREEMENT, ABLATIONS = "agreement.csv", "ablations.csv"
SYSTEMS, SYSTEM_AGREEMENT, DECISIONS = "systems.csv", "system_agreement.csv", "system_decisions.csv"
POPULARITY, FAMILIES, SELECTION = "system_popularity.csv", "system_families.csv", "model_selection.csv"
JUDGED, UNJUDGED, LEFT_OUT, CURVE = "judged.csv", "unjudged.csv", "left_out.csv", "label_curve.csv"
NOTES = "system_notes.csv"

FILES = (
    *(AGREEMENT, ABLATIONS, SYSTEMS, SYSTEM_AGREEMENT, DECISIONS, POPULARITY, FAMILIES, SELECTION),
    *(JUDGED, UNJUDGED, LEFT_OUT, CURVE, NOTES),
)
"""Those that hold a table."""
TEXTS = (
    *("evaluator", "gap", "base", "argument", "value_of", "system", "systems", "measure", "truth_measure"),
    *("no_interval", "source", "best", "other", "most_moved", "family", "note"),
)
