"""Engines that do the work of a run, if not this process in memory."""

RAY = "ray"
DUCKDB, MEMORY = "duckdb", "memory"
ENGINES = (RAY, DUCKDB, MEMORY)
"""What ``engine`` of a run may be."""
