"""What people should label next, and whether they need label more."""
