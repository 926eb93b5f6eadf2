"""Data sets from the hub and from downloads."""
