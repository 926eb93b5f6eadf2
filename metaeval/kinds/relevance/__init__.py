"""Studies of relevance: whether labels agree with people's, and whether systems keep their order."""
