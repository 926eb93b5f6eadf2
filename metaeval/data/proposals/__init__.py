"""Ask what the columns of a table are: their names propose, the user decides, and a map is written."""
