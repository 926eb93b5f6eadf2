"""What the evaluators of every kind have in common, and those that serve any kind."""
