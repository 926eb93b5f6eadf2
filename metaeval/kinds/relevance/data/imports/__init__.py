"""Files that others made → collections."""
