"""Estimates other than Least Square Calibration."""
