"""Judges that say which of two explanations is better."""
