"""Public logs, and tables of any layout, as logs of exposures."""
