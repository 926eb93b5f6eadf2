"""Ensembles, means of several judges: every subset, contributions of judges, accuracy against cost."""
