"""The files of a run folder that only a study of exposure has."""

from __future__ import annotations

OVERLAP, BALANCE, MEANS = "overlap.csv", "balance.csv", "means.csv"

FILES = (OVERLAP, BALANCE, MEANS)
"""Those that hold a table."""
TEXTS = ("by", "bin", "of", "covariate", "mean", "source", "resampled")
