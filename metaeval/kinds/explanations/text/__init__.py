"""Evaluators that read the text alone, or compare it with a reference."""
