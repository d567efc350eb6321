"""Approximate inference for the posterior."""
