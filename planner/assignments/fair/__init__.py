"""Fairness between papers: the worst served first, floors, what they cost, and how near to the best possible."""
