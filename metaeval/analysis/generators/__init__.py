"""Generators ranked by people and by evaluators."""
