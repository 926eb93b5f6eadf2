"""Speed of the engine as ratios to the naive path, taken in one run."""
