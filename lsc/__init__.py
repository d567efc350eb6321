"""Least Square Calibration: from scores to qualities. Imports reviewgraph only."""
