"""Whether a judge may stand in for people."""
