"""Judges that say which of two slates a user would prefer."""
