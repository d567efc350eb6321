"""Lower bounds: how few reviews there can be."""
