"""Logs of what was shown to users and what came of it: propensities, judges of matched pairs."""
