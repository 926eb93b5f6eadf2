"""Data sets of logs: what was exposed, its outcomes, and what is known of items and users."""
