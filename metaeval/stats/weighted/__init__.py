"""Coefficients as functions of cluster weights."""
