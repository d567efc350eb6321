"""A semismooth Newton method for the programme."""
