"""Whether judges may be used for something."""
