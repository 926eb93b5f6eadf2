"""Who does the work of a run, if not this process alone."""

RAY = "ray"
ENGINES = (RAY,)
"""What ``engine`` of a run may be."""
