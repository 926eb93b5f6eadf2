"""Many requests at the price of batches: sent as files, collected later by the same command."""
