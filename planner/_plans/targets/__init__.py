"""Planning to each level, by its target."""
