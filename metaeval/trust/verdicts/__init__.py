"""Verdicts on pairs: strengths, rates, accuracy."""
