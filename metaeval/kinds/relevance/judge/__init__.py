"""Judges that predict how relevant an item is to a user."""
