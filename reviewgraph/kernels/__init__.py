"""Kernels that all three packages use, and when they are compiled."""
