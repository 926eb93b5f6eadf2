"""Verdicts on pairs that a table records: which column is what, and the table of verdicts made of it."""
