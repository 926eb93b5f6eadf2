"""Files that others made → duels of slates."""
