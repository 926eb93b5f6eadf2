"""Judges that say which of two matched items a user would prefer, with evidence that can be checked."""
