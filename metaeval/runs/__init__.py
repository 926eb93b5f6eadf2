"""The run folder: written, opened, joined, viewed."""
