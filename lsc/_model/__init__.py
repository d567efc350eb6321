"""The programme of calibration: hypothesis classes, constraints, units."""
