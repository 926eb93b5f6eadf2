"""A data set of explanations, and what makes one of files, frames, the hub and public studies."""
