"""Biases of pairwise judges."""
