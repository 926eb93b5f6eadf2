"""Probabilities of the tokens of a reply, and the score that they expect."""
