"""The terms of calibration: hypothesis classes and the programmes that they make."""
