"""What people and tools wrote → checked tables: the files, maps and exports that data sets are made of."""
