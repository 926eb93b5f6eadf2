"""Correlation coefficients of two arrays, of groups, and at the levels of a study."""

from metaeval.stats.coefficients.grouped import kendall, pearson, spearman

__all__ = ["kendall", "pearson", "spearman"]
