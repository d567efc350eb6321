"""Kernels of the inference, compiled ahead."""
