"""Figures: a typed table, the chart that draws it, and what charts have in common."""
