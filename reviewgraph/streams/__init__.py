"""Tables larger than memory: Parquet by batches, codes in a temporary file, one pass after another."""
