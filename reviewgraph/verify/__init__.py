"""Answers checked by code that made none of them."""
