"""One table: read, checked, mapped to a data set."""
