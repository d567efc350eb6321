"""The audit of tables of reviews: one list of findings, with the same effect whatever way a table came in."""
