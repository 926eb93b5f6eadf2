"""Studies of explanations: users rate texts that explain a recommendation."""
