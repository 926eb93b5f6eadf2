"""Systems measured by the labels of each evaluator, and whether they keep their order."""
