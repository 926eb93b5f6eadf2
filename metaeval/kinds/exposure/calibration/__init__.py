"""What a judge's score of recommenders says of their Recall: a monotone map, and whether it transports."""
