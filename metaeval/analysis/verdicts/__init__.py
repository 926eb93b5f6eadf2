"""Verdicts on pairs: whether they are coherent."""
