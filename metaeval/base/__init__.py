"""What every room stands on: errors, whole-file writes, specs, YAML with lines, progress."""

__version__ = "0.1.0"
