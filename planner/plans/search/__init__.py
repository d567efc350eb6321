"""Finding plans: cascades, matroid greedy and intersection, exchanges, budgets."""
