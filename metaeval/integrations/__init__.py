"""The doors to other tools."""
