"""Fairness between papers: the worst served first, floors, what they cost, and how near they are to the best possible."""
