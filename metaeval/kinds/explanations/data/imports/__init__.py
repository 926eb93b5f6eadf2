"""Public studies and recorded verdicts, from their released files."""
