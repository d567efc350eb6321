"""Loops over arrays, compiled by Numba where the work repays it."""
