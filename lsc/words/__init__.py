"""What a calibration says to people."""
