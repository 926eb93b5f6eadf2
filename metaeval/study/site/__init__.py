"""A static site of finished runs."""
