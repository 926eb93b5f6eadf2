"""Studies whose truth is people's distribution."""
