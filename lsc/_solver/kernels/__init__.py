"""The inner loops of the solver."""
