"""A data set on disk and in memory: its folder, manifest and checks."""
