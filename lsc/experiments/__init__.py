"""The experiments of the paper, and more."""
