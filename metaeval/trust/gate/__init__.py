"""Whether a system is still good enough."""
