"""The inner loops of the evidence."""
