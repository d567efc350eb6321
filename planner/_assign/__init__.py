"""How reviewers are assigned."""
