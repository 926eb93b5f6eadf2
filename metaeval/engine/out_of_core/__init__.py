"""Scores in Parquet files that do not fit in memory → the numbers that the engine gives of frames."""
