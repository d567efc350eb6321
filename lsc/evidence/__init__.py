"""What supports a solution: residuals, uniqueness, the graph, standard errors, the scale."""
