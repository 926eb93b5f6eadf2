"""Scores × truth → correlations, intervals, tests, ranks: aligned once, then arrays."""
