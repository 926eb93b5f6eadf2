"""The figures of a study of explanations: a sheet → a chart, one small file per figure."""
