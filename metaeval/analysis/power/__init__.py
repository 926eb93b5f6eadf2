"""How many users a study needs."""
