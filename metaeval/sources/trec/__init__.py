"""Files in TREC's formats: labels (qrels) and runs of systems, plain or gzip'ed."""
