"""Analyses of a run: aligned arrays in, typed results and sheets out; no files, no study, no formats."""
