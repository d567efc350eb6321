"""The commands calibrate, simulate, reproduce."""
