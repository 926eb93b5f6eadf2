"""The files of a run folder that only a study of slates has, and their columns of text."""

from __future__ import annotations

UNITS = "units.parquet"
"""What is known of each unit: key columns, task, slates, utilities, repeat and similarity."""
REGRET, DIFFICULTY, COHERENCE = "regret.csv", "regret_by_difficulty.csv", "coherence.csv"
AGREEMENT, MAJORITY, AGAINST = "judge_agreement.csv", "majority.csv", "regret_coherence.csv"

SHEETS = (REGRET, DIFFICULTY, COHERENCE, AGAINST, AGREEMENT, MAJORITY)
"""Those that are laid out as sheets, in order."""
FILES = (UNITS, *SHEETS)
"""Those that hold a table."""
TEXTS = ("evaluator", "task", "axiom", "first", "second", "ensemble", "member", "note")
