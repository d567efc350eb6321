"""How extra reviews are planned."""
