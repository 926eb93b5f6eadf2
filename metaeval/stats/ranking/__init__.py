"""Agreement in order, and strengths from comparisons."""
