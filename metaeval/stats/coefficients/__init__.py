"""Correlation coefficients of arrays, of groups and at levels."""
