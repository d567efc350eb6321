"""Qualities of tables larger than memory, by passes over the reviews on disk: the posterior, and linear reviewers."""
