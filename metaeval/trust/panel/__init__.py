"""Panels of judges: where they split, what they gain."""
