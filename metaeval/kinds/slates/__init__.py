"""Studies of slates: which of two lists of items a user would prefer."""
