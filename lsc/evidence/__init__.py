"""What the scores can say: optimality, uniqueness, support, errors."""
