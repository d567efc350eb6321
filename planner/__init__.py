"""Which reviews to add, and which to assign, so that scores can be compared. Imports reviewgraph only."""
