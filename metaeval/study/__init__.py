"""A study file → a run folder; and the same in single steps, from file to file."""
