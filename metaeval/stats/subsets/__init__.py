"""Every subset of several judges."""
