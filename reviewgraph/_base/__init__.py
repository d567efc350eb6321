"""Shared vocabulary of all packages: labels, arrays, errors, arguments, results, text, files, time limits."""

from reviewgraph._base.lazy import attach

__getattr__, __dir__ = attach(__name__)
