"""What all evaluators share, and the evaluators for any kind of study."""
