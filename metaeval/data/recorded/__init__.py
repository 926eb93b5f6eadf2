"""Scores that another tool recorded, matched with the units of a data set."""
