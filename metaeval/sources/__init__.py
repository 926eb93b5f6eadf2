"""Files and the hub → tables as text; what is wrong is said with row and column."""
