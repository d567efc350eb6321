"""Pages of calibrations and of single papers."""
