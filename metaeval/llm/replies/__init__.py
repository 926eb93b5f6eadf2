"""Replies → values, or the reason that there are none."""
