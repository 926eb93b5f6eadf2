"""Bootstrap, jackknife, permutation tests, corrections for many tests."""
