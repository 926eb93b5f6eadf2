"""Any table → a data set of explanations, by a column map."""
