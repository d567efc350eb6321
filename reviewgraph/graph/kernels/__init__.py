"""Loops over arrays, compiled by Cython."""
