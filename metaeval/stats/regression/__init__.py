"""Models of scores: effects, variance components, monotone maps, prediction-powered means."""
