"""Analyses of a run: from aligned arrays to typed results and sheets."""
