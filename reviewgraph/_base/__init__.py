"""Shared vocabulary of all packages: labels, arrays, errors, arguments, results, text, files, time limits."""
