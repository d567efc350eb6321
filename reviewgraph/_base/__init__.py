"""What every other package speaks in: labels, arrays, errors, arguments, results."""
