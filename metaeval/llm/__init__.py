"""Messages in, replies out; knows nothing of explanations."""
