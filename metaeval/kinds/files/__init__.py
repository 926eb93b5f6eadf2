"""Data sets on disk, of every kind: ``dataset.yaml`` and tables, read, checked and written."""
