"""Judges that rate explanations one by one, or say which of two is better."""
