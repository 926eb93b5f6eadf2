"""Scores and truth, matched unit by unit, as the policy of a study leaves them."""
