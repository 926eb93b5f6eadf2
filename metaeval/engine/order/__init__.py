"""Evaluators in order: paired tests, ranks, what a leaderboard shows of them."""
