"""What a command does with a finished run."""
