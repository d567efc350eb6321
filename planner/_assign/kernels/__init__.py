"""Loops over an assignment under change, compiled ahead."""
