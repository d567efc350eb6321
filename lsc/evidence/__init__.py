"""What the scores determine: optimality, uniqueness, support, standard errors."""
