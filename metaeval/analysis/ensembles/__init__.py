"""Means of several judges: every subset, what each judge adds, and what accuracy costs."""
