"""Verification of answers, by code that shares nothing with what made them."""
