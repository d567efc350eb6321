"""Connection: components, levels, fragility, precision."""
