"""The stages of an assignment, one after the other, and the answer at each end."""
