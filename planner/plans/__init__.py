"""Which reviews to add."""
