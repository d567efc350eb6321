"""Kernels of plans and the states that they work on: plain Python on arrays, with headers for the compiler."""
