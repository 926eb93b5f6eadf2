"""With what probability a log exposes what it does, logged or fitted; and its overlap with a target."""
